/** Passes runs of ordinary events on without parsing them: most of a stream says nothing but the next word. */
import type { WireReader } from '../contract.ts'
import { OTHER_NAME } from './members.ts'
import type { OpenAiLike } from './options.ts'

/** JSON puts no bare quote inside a string, so these can only be names and markers of the event itself. */
const USAGE = '"usage"'
const NULL_USAGE = ',"usage":null'
const DELTA = '"delta":'
/** How a chunk ends whose last event is a JSON object in full. */
const WHOLE = '}\n\n'
/** Marks of events that must be read and not only passed on. */
const MARKS = [
  USAGE,
  'event:',
  '"error"',
  '[DONE]',
  '"finish_reason":"',
  '"finish_reason": "',
  OTHER_NAME,
]

export function skimmer(
  hidesUsage: boolean,
  { sendsVerdicts = false }: Pick<OpenAiLike, 'sendsVerdicts'>,
): NonNullable<WireReader['skim']> {
  return (frames, metered) => {
    const text = frames.toString('latin1')
    const shown = hidesUsage && text.includes(NULL_USAGE) ? text.replaceAll(NULL_USAGE, '') : text
    if (!text.endsWith(WHOLE) || MARKS.some((mark) => shown.includes(mark))) return undefined
    const events = countEvents(text)
    // One without a delta is a verdict.
    if (sendsVerdicts && shown.split(DELTA).length <= events) return undefined
    metered.contentEvents += events
    return shown === text ? frames : Buffer.from(shown, 'latin1')
  }
}

function countEvents(text: string): number {
  let count = 0
  for (let at = text.indexOf('data:'); at !== -1; at = text.indexOf('data:', at + 5)) {
    // Inside of a line it is text of the answer.
    if (at === 0 || text[at - 1] === '\n' || text[at - 1] === '\r') count++
  }
  return count
}
