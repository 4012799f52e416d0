/** Members of the line of a request in the log, and the fields of a trace that have a different form there. */
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

/** What JSON writes unchanged; most texts are that. */
const PLAIN = /^[ !#-[\]-~]*$/

/** A member of the line; none if the value is undefined. The name ends with the quote of the text. */
export function text(name: string, value: string | undefined): string {
  if (value === undefined) return ''
  return PLAIN.test(value) ? `${name}${value}"` : name + JSON.stringify(value).slice(1)
}

/** The same for a value that is no text. */
export function other(name: string, value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'number' && Number.isFinite(value)) return name + value
  return typeof value === 'boolean' ? name + value : name + JSON.stringify(value)
}
