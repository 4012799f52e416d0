/** Passes ordinary events without parsing them: most stream events contain only the next word. */
import type { Hearer, WireReader } from '../../../wire/provider.ts'
import { OTHER_NAME } from '../members.ts'
import type { OpenAiLike } from '../options.ts'
import { EventPattern, type Places } from './pattern.ts'
import { type RepeatedUsage, usageOf, withoutUsages } from './repeated-usage.ts'

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

/** How many events in turn may be searched without one that repeats an earlier one. */
const PATTERNS_MAX = 16

export function skimmer(skimming: Skimming): NonNullable<WireReader['skim']> {
  let pattern: EventPattern | undefined
  let tries = 0
  return (frames, hearer) => {
    const text = frames.toString('latin1')
    const passed = pattern && repeating(pattern, text, frames, hearer)
    if (passed !== undefined) {
      tries = 0
      return passed
    }
    const searched = search(text, skimming)
    if (searched === undefined) return undefined
    const { shown, events, repeated } = searched
    hearer.contentEvents += events
    const only = hearTexts(text, frames, events, hearer)
    if (repeated !== undefined) reportLast(repeated, hearer)
    if (only !== undefined && events === 1 && tries < PATTERNS_MAX) {
      tries++
      pattern = EventPattern.of({ frame: frames, text, shown, ...only })
    }
    return shown === text ? frames : Buffer.from(shown, 'latin1')
  }
}

const places: Places = { textAt: 0, textEnd: 0, usageAt: 0, usageEnd: 0, end: 0 }
/** Begin and end of each text in a run. */
const texts: number[] = []

/** The client's bytes if every event has the form of the pattern. test/bench/micro/weight.ts: 0.4 us instead of 1.8. */
function repeating(
  pattern: EventPattern,
  text: string,
  frames: Buffer,
  hearer: Hearer,
): Buffer | undefined {
  let shown = ''
  texts.length = 0
  for (let at = 0; at < text.length; at = places.end) {
    if (!pattern.finds(text, frames, at, places)) return undefined
    texts.push(places.textAt, places.textEnd)
    if (!pattern.isSame) shown += pattern.shown(text, places)
  }
  hearer.contentEvents += texts.length / 2
  for (let index = 0; index < texts.length; index += 2)
    hearer.hear(frames, texts[index] as number, texts[index + 1] as number)
  if (pattern.hasUsage)
    reportLast({ usage: usageOf(text.slice(places.usageAt, places.usageEnd)) }, hearer)
  return pattern.isSame ? frames : Buffer.from(shown, 'latin1')
}

interface Searched {
  /** The client's events. */
  readonly shown: string
  readonly events: number
  readonly repeated: RepeatedUsage | undefined
}

/** undefined if an event must be read. */
function search(text: string, skimming: Skimming): Searched | undefined {
  const { hidesUsage, showsRepeated, sendsVerdicts = false, repeatsUsage = false } = skimming
  if (!text.endsWith(WHOLE)) return undefined
  const repeated = repeatsUsage && text.includes(USAGE) ? withoutUsages(text) : undefined
  const plain = repeated?.text ?? text
  const shown = hidesUsage && plain.includes(NULL_USAGE) ? plain.replaceAll(NULL_USAGE, '') : plain
  if (MARKS.some((mark) => shown.includes(mark))) return undefined
  const events = countEvents(text)
  if (shown.includes(CALLS_END) && beginsCall(shown, events)) return undefined
  // An event without a delta is a verdict.
  if (sendsVerdicts && shown.split(DELTA).length <= events) return undefined
  return { shown: repeated !== undefined && showsRepeated ? text : shown, events, repeated }
}

/** Whether a call starts: the text has its name, or its id beside that of the chunk. Other pieces have neither. */
function beginsCall(text: string, events: number): boolean {
  return NAMES.some((name) => text.includes(name)) || text.split(ID).length - 1 > events
}

function reportLast({ usage }: Pick<RepeatedUsage, 'usage'>, hearer: Hearer): void {
  if (usage !== undefined) hearer.report(usage, true)
}

/** Each byte is a character of `text`. Most events have one text. Returns its place if it is the only one. */
function hearTexts(text: string, frames: Buffer, events: number, hearer: Hearer) {
  let heard = 0
  let textAt = 0
  let textEnd = 0
  for (const name of TEXTS) {
    if (heard >= events) break
    for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at)) {
      at += name.length
      if (frames[at] === BLANK) at++
      if (frames[at] !== QUOTE) continue
      heard++
      textAt = at + 1
      textEnd = endOfString(text, frames, textAt)
      hearer.hear(frames, textAt, textEnd)
      at = textEnd
    }
  }
  return heard === 1 ? { textAt, textEnd } : undefined
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
