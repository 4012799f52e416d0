/** The facts about a model that its refusal shows: the same request is sent once more as the model takes it. */
import type { Failure } from '../../wire/failure.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import { HINTS } from '../../wire/unsupported.ts'

/** A refusal of a request, by its words. */
export interface LessonRule {
  readonly says: RegExp
  /** The member that the refusal names, where its words alone are not sure. */
  readonly param?: RegExp
  /** undefined where the words show nothing that the gateway can change. */
  readonly teaches:
    | Capabilities
    | ((found: RegExpExecArray, failure: Failure) => Capabilities | undefined)
}

/** An effort is left out, and named. */
export const EFFORTLESS: Capabilities = { reasons: false, refused: ['reasoning_effort'] }

const NAMES_LEAST = 24
const IDS_LEAST = 29
/** Members that only wish, and the sampling. Other members have a meaning: a refusal of them is the client's. */
const LEAVABLE: ReadonlySet<string> = new Set([
  ...HINTS,
  ...['temperature', 'top_p', 'top_k', 'min_p', 'presence_penalty', 'frequency_penalty'],
])

/** Only refusals of the request itself teach. */
export function withLesson(failure: Failure, rules: readonly LessonRule[]): Failure {
  const { message, param, concession } = failure
  if (concession !== undefined || (failure.class !== 'client' && failure.class !== 'missing'))
    return failure
  for (const rule of rules) {
    const found = rule.says.exec(message)
    if (found === null || rule.param?.test(`${param ?? ''} ${message}`) === false) continue
    const { teaches } = rule
    const facts = typeof teaches === 'function' ? teaches(found, failure) : teaches
    return facts === undefined ? failure : { ...failure, concession: { teaches: facts } }
  }
  return failure
}

/** The member that a refusal names, if it may be left out. */
export function refusedMember(
  found: RegExpExecArray,
  { param }: Failure,
): Capabilities | undefined {
  const name = [found[1], param ?? undefined].find((one) => one !== undefined && LEAVABLE.has(one))
  return name === undefined ? undefined : { refused: [name] }
}

/** The length of names in a refusal; much shorter ones would be equal. */
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
