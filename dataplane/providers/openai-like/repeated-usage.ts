/** The usage that a runtime says beside each piece of a stream, because the gateway asks for it: counted, and not shown. */

import { parsed } from '../../json/values.ts'
import type { Usage } from '../../wire/inner-form.ts'
import { readUsage } from './members.ts'

export interface RepeatedUsage {
  /** The events without it. */
  readonly text: string
  /** That of the last event. */
  readonly usage: Usage | undefined
}

/** JSON puts no bare quote inside a string, so this is a member. */
const MEMBER = ',"usage":{'
/** The event with the usage of the whole answer, which clients may see. */
const NO_CHOICES = '"choices":[]'
const [OPEN, CLOSE] = [0x7b, 0x7d] as const
/** No usage is longer; strings do not stand in one. */
const LENGTH_MAX = 1_024

/** `text` are whole events; undefined where they have to be read. */
export function withoutUsages(text: string): RepeatedUsage | undefined {
  if (text.includes(NO_CHOICES)) return undefined
  let shown = ''
  let last = ''
  let from = 0
  for (let at = text.indexOf(MEMBER); at !== -1; at = text.indexOf(MEMBER, from)) {
    const start = at + MEMBER.length - 1
    const end = endOfObject(text, start)
    if (end === undefined) return undefined
    shown += text.slice(from, at)
    last = text.slice(start, end)
    from = end
  }
  const usage = last === '' ? undefined : readUsage(parsed(last))
  return { text: shown + text.slice(from), usage }
}

/** The place behind it. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < start + LENGTH_MAX; at++) {
    const code = text.charCodeAt(at)
    if (code === OPEN) depth++
    else if (code === CLOSE) depth--
    if (depth === 0) return at + 1
  }
  return undefined
}
