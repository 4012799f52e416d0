/**
 * The facts about a model that its refusal shows. The gateway then sends the same request once more in a form that
 * fits.
 */
import type { Failure } from '../../wire/failure.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import { HINTS } from '../../wire/unsupported.ts'

/** A refusal of a request, by its message. */
export interface LessonRule {
  readonly says: RegExp
  /** The member in the refusal, if the message alone is ambiguous. */
  readonly param?: RegExp
  /** undefined if the message shows nothing that the gateway can change. */
  readonly teaches:
    | Capabilities
    | ((found: RegExpExecArray, failure: Failure) => Capabilities | undefined)
}

/** The gateway omits an effort, and names it. */
export const EFFORTLESS: Capabilities = { reasons: false, refused: ['reasoning_effort'] }

const NAMES_LEAST = 24
const IDS_LEAST = 29
/** Hints and sampling members. Other members have a meaning, so the client gets their refusal. */
const LEAVABLE: ReadonlySet<string> = new Set([
  ...HINTS,
  ...['temperature', 'top_p', 'top_k', 'min_p', 'presence_penalty', 'frequency_penalty'],
])

/** Only refusals of the request itself teach facts. */
export function withLesson(failure: Failure, rules: readonly LessonRule[]): Failure {
  const { message, param, workaround } = failure
  if (workaround !== undefined || (failure.class !== 'client' && failure.class !== 'missing'))
    return failure
  for (const rule of rules) {
    const found = rule.says.exec(message)
    if (found === null || rule.param?.test(`${param ?? ''} ${message}`) === false) continue
    const { teaches } = rule
    const facts = typeof teaches === 'function' ? teaches(found, failure) : teaches
    return facts === undefined ? failure : { ...failure, workaround: { teaches: facts } }
  }
  return failure
}

/** The member in a refusal, if the gateway may omit it. */
export function refusedMember(
  found: RegExpExecArray,
  { param }: Failure,
): Capabilities | undefined {
  const name = [found[1], param ?? undefined].find((one) => one !== undefined && LEAVABLE.has(one))
  return name === undefined ? undefined : { refused: [name] }
}

/** The length of names in a refusal; much shorter names would become equal. */
export function longestName(length: unknown): Capabilities | undefined {
  const nameMax = Number(length)
  return nameMax >= NAMES_LEAST ? { nameMax } : undefined
}

export function longestId(length: unknown): Capabilities | undefined {
  const idMax = Number(length)
  return idMax >= IDS_LEAST ? { idMax } : undefined
}

export function largestLimit(most: unknown): Capabilities | undefined {
  const outputTokens = Number(most)
  return outputTokens >= 1 ? { outputTokens, outputMost: outputTokens } : undefined
}
