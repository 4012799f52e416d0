/** Fields of a trace with a different form in the log; undefined ones are not written. */
import type { Trace } from './fields.ts'

/** An upstream may send an error message of any length. */
const REASON_LENGTH_MAX = 300

type Shows = { readonly [F in keyof Trace]?: (trace: Trace) => unknown }

export const LOGGED = {
  attempts: ({ attempts }) => attempts.length,
  completion_tokens: ({ prompt_tokens, completion_tokens }) =>
    prompt_tokens === undefined ? undefined : (completion_tokens ?? 0),
  usage_estimated: ({ usage_estimated }) => (usage_estimated === true ? true : undefined),
  // The client does not get the text of an upstream's failure.
  message: ({ status, attempts, message }) =>
    status >= 499 && attempts.length > 0 ? message?.slice(0, REASON_LENGTH_MAX) : undefined,
} satisfies Shows

export function tenths(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10
}
