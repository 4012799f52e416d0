/** Reads a stream while its bytes pass: content, usage, finish and errors, and what the client is to see of them. */

import type { ChatRequest } from '../call.ts'
import { parsed } from '../json/values.ts'
import type { MeteredAttempt } from '../meter.ts'
import type { Failure, Provider, StreamReader } from '../providers/contract.ts'
import { parseEvent, splitEvents } from './sse.ts'

/** JSON puts no bare quote inside a string, so these can only be names and markers of the event itself. */
const USAGE = '"usage"'
const NULL_USAGE = ',"usage":null'
/** How a chunk ends whose last event is a JSON object in full. */
const WHOLE = '}\n\n'
/** Marks of events that must be read and not only passed on. */
const MARKS = [USAGE, 'event:', '"error"', '[DONE]', '"finish_reason":"', '"finish_reason": "']

export class Tap {
  /** An event with text, reasoning, a tool call or a refusal has been seen. */
  content = false
  finished = false
  done = false
  /** The terminal event has been passed on as it came, so nobody needs to add one. */
  doneShown = false
  failure: Failure | undefined
  brokenEvents = 0
  readonly #reader: StreamReader
  readonly #passesBytes: boolean
  readonly #marks: readonly string[]
  readonly #hidesUsage: boolean
  readonly #metered: MeteredAttempt
  readonly #clean: (failure: Failure) => Failure

  /** `clean` takes out of a failure what nobody else may see. */
  constructor(
    provider: Provider,
    request: ChatRequest,
    metered: MeteredAttempt,
    clean: (failure: Failure) => Failure = (failure) => failure,
  ) {
    this.#clean = clean
    this.#reader = provider.openStream(request)
    this.#passesBytes = provider.passesBytes
    this.#marks = provider.marks === undefined ? MARKS : [...MARKS, ...provider.marks]
    this.#hidesUsage = !request.includeUsage
    this.#metered = metered
  }

  /** Whole events in; the bytes for the client out (empty when it is to see nothing of them). */
  take(events: Buffer): Buffer {
    if (!this.#passesBytes || !this.content || this.#isOver()) return this.#read(events)
    const text = events.toString('latin1')
    const shown =
      this.#hidesUsage && text.includes(NULL_USAGE) ? text.replaceAll(NULL_USAGE, '') : text
    if (!text.endsWith(WHOLE) || this.#marks.some((mark) => shown.includes(mark))) {
      return this.#read(events)
    }
    this.#metered.contentEvents += countEvents(text)
    return shown === text ? events : Buffer.from(shown, 'latin1')
  }

  #read(events: Buffer): Buffer {
    const out: Buffer[] = []
    for (const bytes of splitEvents(events)) {
      if (this.#isOver()) break
      const shown = this.#readOne(bytes)
      if (shown.length > 0) out.push(shown)
    }
    return out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out)
  }

  /** What comes behind an error or the terminal event is not the answer's any more. */
  #isOver(): boolean {
    return this.failure !== undefined || this.done
  }

  #readOne(bytes: Buffer): Buffer {
    const event = parseEvent(bytes)
    // Comments of the upstream pass on its own wire; on another wire they mean nothing to the client.
    if (event === undefined) return this.#passesBytes ? bytes : NOTHING
    const meaning = this.#reader.read(event)
    if (meaning.content) {
      this.content = true
      this.#metered.contentEvents++
    }
    this.finished ||= meaning.finished
    this.done ||= meaning.done
    if (meaning.failure !== undefined) this.failure ??= this.#clean(meaning.failure)
    if (meaning.usage !== undefined) this.#metered.usage = meaning.usage
    if (meaning.failure !== undefined) return NOTHING
    if (meaning.out === 'same') {
      if (!meaning.content && !meaning.done && isBroken(event.data)) this.brokenEvents++
      this.doneShown ||= meaning.done
      return bytes
    }
    return Buffer.from(meaning.out.map((json) => `data: ${json}\n\n`).join(''))
  }
}

const NOTHING = Buffer.alloc(0)

function isBroken(data: string): boolean {
  return parsed(data) === undefined
}

function countEvents(text: string): number {
  let count = 0
  for (let at = text.indexOf('data:'); at !== -1; at = text.indexOf('data:', at + 5)) {
    // Inside of a line it is text of the answer.
    if (at === 0 || text[at - 1] === '\n' || text[at - 1] === '\r') count++
  }
  return count
}
