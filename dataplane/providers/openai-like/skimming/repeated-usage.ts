/** The usage beside each piece of a stream, which the gateway requests: it is counted and hidden from the client. */

import { parsed } from '../../../json/values.ts'
import type { Usage } from '../../../wire/inner-form.ts'
import { readUsage } from '../members.ts'

export interface RepeatedUsage {
  /** The events without it. */
  readonly text: string
  /** The usage of the last event. */
  readonly usage: Usage | undefined
}

/** JSON strings contain no unescaped quote, so this is a member. */
export const USAGE_MEMBER = ',"usage":{'
/** The event with the usage of the whole answer, which clients may see. */
const NO_CHOICES = '"choices":[]'
const [OPEN, CLOSE] = [0x7b, 0x7d] as const
/** No usage is longer, and it contains no strings. */
const LENGTH_MAX = 1_024

/** `text`: whole events; undefined if they have to be read. */
export function withoutUsages(text: string): RepeatedUsage | undefined {
  if (text.includes(NO_CHOICES)) return undefined
  let shown = ''
  let last = ''
  let from = 0
  for (let at = text.indexOf(USAGE_MEMBER); at !== -1; at = text.indexOf(USAGE_MEMBER, from)) {
    const start = at + USAGE_MEMBER.length - 1
    const end = endOfObject(text, start)
    if (end === undefined) return undefined
    shown += text.slice(from, at)
    last = text.slice(start, end)
    from = end
  }
  const usage = last === '' ? undefined : usageOf(last)
  return { text: shown + text.slice(from), usage }
}

/** `text`: the value of the member. */
export function usageOf(text: string): Usage | undefined {
  return readUsage(parsed(text))
}

/** The position after it; undefined if it is too long. */
export function endOfObject(text: string, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < start + LENGTH_MAX; at++) {
    const code = text.charCodeAt(at)
    if (code === OPEN) depth++
    else if (code === CLOSE) depth--
    if (depth === 0) return at + 1
  }
  return undefined
}
