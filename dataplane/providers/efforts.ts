/** Replaces the client's reasoning effort with one that the model accepts. */
import { textOf } from '../json/values.ts'
import type { ChatBody } from '../wire/inner-form.ts'
import { type Capabilities, EFFORTS, type Effort } from '../wire/models/capabilities.ts'

/** The same effort if the model accepts it, else the next higher one, else the highest; undefined for unknown words. */
export function effortAmong(asked: unknown, efforts: readonly Effort[]): Effort | undefined {
  const wanted = (EFFORTS as readonly unknown[]).indexOf(asked)
  if (wanted < 0) return undefined
  const sorted = EFFORTS.filter((effort) => efforts.includes(effort))
  return sorted.find((effort) => EFFORTS.indexOf(effort) >= wanted) ?? sorted.at(-1)
}

/** The effort in a body, in the model's terms; undefined if the body has none. */
export function effortOf(
  { reasoning_effort: asked }: ChatBody,
  { reasons, efforts }: Capabilities,
): string | undefined {
  const effort = textOf(asked)
  if (effort === undefined || reasons === false) return undefined
  return efforts === undefined ? effort : (effortAmong(effort, efforts) ?? effort)
}

const SAMPLING: readonly string[] = ['temperature', 'top_p']
const NONE: readonly string[] = []

/** Members that a model with OpenAI's wire refuses while it reasons. */
export function refusedSampling(body: ChatBody, capabilities: Capabilities): readonly string[] {
  if (capabilities.sampling !== false || effortOf(body, capabilities) === 'none') return NONE
  return SAMPLING.filter((name) => body[name] != null)
}
