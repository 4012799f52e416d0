/** Passes ordinary events without parsing them: most stream events contain only the next word. */
import type { Hearer, WireReader } from '../../wire/provider.ts'
import { OTHER_NAME } from './members.ts'
import type { OpenAiLike } from './options.ts'
import { type RepeatedUsage, withoutUsages } from './repeated-usage.ts'

/** JSON strings contain no unescaped quote, so these are member names and markers of the event itself. */
const USAGE = '"usage"'
const NULL_USAGE = ',"usage":null'
const DELTA = '"delta":'
/** The end of a chunk whose last event is a complete JSON object. */
const WHOLE = '}\n\n'
/** Markers of events that must be parsed, not only passed on. */
const MARKS = [
  USAGE,
  'event:',
  '"error"',
  '[DONE]',
  '"finish_reason":"',
  '"finish_reason": "',
  OTHER_NAME,
]
/** Occurs in each piece of a call. */
export const CALLS = '"tool_calls"'
/** A faster search than for the whole name, because most texts contain quotes. */
const CALLS_END = '_calls"'
const NAMES = ['"name":"', '"name": "']
const ID = '"id"'
/** The ends of member names that contain text of the answer. */
const TEXTS = ['content":', 'arguments":', '"text":', 'refusal":']
const [BLANK, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c] as const

export interface Skimming extends Pick<OpenAiLike, 'sendsVerdicts' | 'repeatsUsage'> {
  /** Whether clients get only the usage of the whole answer. */
  readonly hidesUsage: boolean
  /** Whether clients get usage beside each piece. */
  readonly showsRepeated: boolean
}

export function skimmer({
  hidesUsage,
  showsRepeated,
  sendsVerdicts = false,
  repeatsUsage = false,
}: Skimming): NonNullable<WireReader['skim']> {
  return (frames, hearer) => {
    const text = frames.toString('latin1')
    if (!text.endsWith(WHOLE)) return undefined
    const repeated = repeatsUsage && text.includes(USAGE) ? withoutUsages(text) : undefined
    const plain = repeated?.text ?? text
    const shown =
      hidesUsage && plain.includes(NULL_USAGE) ? plain.replaceAll(NULL_USAGE, '') : plain
    if (MARKS.some((mark) => shown.includes(mark))) return undefined
    const events = countEvents(text)
    if (shown.includes(CALLS_END) && beginsCall(shown, events)) return undefined
    // An event without a delta is a verdict.
    if (sendsVerdicts && shown.split(DELTA).length <= events) return undefined
    hearer.contentEvents += events
    hearTexts(text, frames, events, hearer)
    if (repeated !== undefined) reportLast(repeated, hearer)
    if (shown === text || (repeated !== undefined && showsRepeated)) return frames
    return Buffer.from(shown, 'latin1')
  }
}

/** Whether a call starts: the text has its name, or its id beside that of the chunk. Other pieces have neither. */
function beginsCall(text: string, events: number): boolean {
  return NAMES.some((name) => text.includes(name)) || text.split(ID).length - 1 > events
}

function reportLast({ usage }: RepeatedUsage, hearer: Hearer): void {
  if (usage !== undefined) hearer.report(usage, true)
}

/** Each byte is a character of `text`. Most events have one text. */
function hearTexts(text: string, frames: Buffer, events: number, hearer: Hearer): void {
  let heard = 0
  for (const name of TEXTS) {
    if (heard >= events) return
    for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at)) {
      at += name.length
      if (frames[at] === BLANK) at++
      if (frames[at] !== QUOTE) continue
      heard++
      const end = endOfString(text, frames, at + 1)
      hearer.hear(frames, at + 1, end)
      at = end
    }
  }
}

/** The position of the quote that ends the string. */
function endOfString(text: string, frames: Buffer, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1
    while (frames[before] === BACKSLASH) before--
    if ((at - before) % 2 === 1) return at
  }
  return text.length
}

function countEvents(text: string): number {
  let count = 0
  for (let at = text.indexOf('data:'); at !== -1; at = text.indexOf('data:', at + 5)) {
    // Inside a line it is text of the answer.
    if (at === 0 || text[at - 1] === '\n' || text[at - 1] === '\r') count++
  }
  return count
}
