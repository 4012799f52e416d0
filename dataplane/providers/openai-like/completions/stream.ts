/** Reads the events of a legacy completion of OpenAI's own wire. */
import type { KeptText } from '../../../base/kept-text.ts'
import { parseJson } from '../../../json/parse.ts'
import { isRecord, listOf, recordOf, textOf } from '../../../json/values.ts'
import type { CompletionsEvent, CompletionsRequest, Sent, Usage } from '../../../wire/inner-form.ts'
import type {
  Failure,
  Meaning,
  StreamReader,
  WireMeaning,
  WireReader,
} from '../../../wire/provider.ts'
import { BROKEN } from '../../answers/faults.ts'
import { unlikeAsked } from '../../failures/classify.ts'
import { type Chunk, isFinished, openChunks } from '../chunks.ts'
import { finishOf } from '../inner.ts'
import { indexOf, readUsage } from '../members.ts'
import { openWireReader } from '../stream.ts'
import type { CompletionsReading } from './answer.ts'
import { openLogprobs } from './logprobs.ts'
import { UsagePerChoice } from './usage-per-choice.ts'

export function openTextReader(
  request: Sent<CompletionsRequest>,
  options: CompletionsReading,
  kept: KeptText,
): StreamReader<CompletionsEvent> {
  const chunks = openChunks(request, options, kept)
  const counter = options.usagePerChoice ? new UsagePerChoice(request) : undefined
  const endings = new Endings(request)
  const logprobs = openLogprobs(request, options)
  let started = false

  function eventsOf(chunk: Chunk): CompletionsEvent[] {
    const events = listOf(chunk.choices).flatMap((choice) => choiceEvents(recordOf(choice)))
    if (started || events.length === 0) return events
    started = true
    const start = { id: textOf(chunk.id) ?? 'unknown', model: textOf(chunk.model) ?? '' }
    return [{ kind: 'start', ...start }, ...events]
  }

  return {
    read(raw): Meaning<CompletionsEvent> {
      const event = logprobs === undefined ? raw : { ...raw, data: logprobs.event(raw.data) }
      const read = chunks.read(event)
      if (read.kind === 'failure') return { events: [], done: false, failure: read.failure }
      if (read.kind === 'unknown') {
        return { events: [], done: false, ...(read.broken && { failure: BROKEN }) }
      }
      if (read.kind === 'done') {
        const failure = endings.failure()
        return failure === undefined
          ? { events: [], done: true }
          : { events: [], done: false, failure }
      }
      const all = read.pieces.map(({ chunk }) => chunk)
      for (const chunk of all) endings.see(chunk)
      const usage = usageIn(all, counter)
      return { events: all.flatMap(eventsOf), done: false, ...(usage && { usage }) }
    },
  }
}

function usageIn(chunks: readonly Chunk[], counter: UsagePerChoice | undefined): Usage | undefined {
  if (counter !== undefined) return chunks.map((chunk) => counter.add(chunk)).find(Boolean)
  return chunks.map((chunk) => readUsage(chunk.usage, chunk)).find(Boolean)
}

function choiceEvents(one: Chunk): CompletionsEvent[] {
  const choice = indexOf(one)
  const { logprobs, finish_reason: reason } = one
  const text = textOf(one.text)
  const events: CompletionsEvent[] = []
  if (text !== undefined) {
    const delta = { text, ...(logprobs != null && { logprobs }) }
    events.push({ kind: 'delta', choice, delta })
  }
  if (isFinished(one)) events.push({ kind: 'end', choice, finish: finishOf(reason) })
  return events
}

/** For clients of the same wire. */
export function openTextWireReader(
  request: Sent<CompletionsRequest>,
  options: CompletionsReading,
  kept: KeptText,
): WireReader {
  const reader = openWireReader(request, options, kept)
  const endings = new Endings(request)
  const counter = options.usagePerChoice ? new UsagePerChoice(request) : undefined
  const isPlain = counter === undefined && request.choices === 1
  const { skim, ...plain } = reader
  const logprobs = openLogprobs(request, options)
  const isMended = logprobs !== undefined || options.emptyReasons === true
  const mended = (data: string) => logprobs?.event(data) ?? withReason(data)
  return {
    ...plain,
    ...(skim && !isMended && { skim }),
    read(raw) {
      const event = isMended ? { ...raw, data: mended(raw.data) } : raw
      const read = reader.read(event)
      const meaning =
        event.data !== raw.data && read.out === 'same'
          ? { ...read, out: `data: ${event.data}\n\n` }
          : read
      if (meaning.done) {
        const failure = endings.failure()
        if (failure !== undefined) return { ...meaning, out: '', done: false, failure }
        const last = counter?.lastEvent()
        return last === undefined ? meaning : { ...meaning, out: `${last}${reader.end(undefined)}` }
      }
      if (meaning.failure !== undefined || meaning.broken) return meaning
      if (isEmpty(event.data, meaning)) return { ...meaning, out: '' }
      return isPlain ? meaning : seen(event.data, meaning)
    },
  }

  /** Events with an end or a usage are parsed again: there are few of them. */
  function seen(data: string, meaning: WireMeaning): WireMeaning {
    if (!meaning.usage && !data.includes('"finish_reason"')) return meaning
    const chunk = recordOf(parseJson(data))
    endings.see(chunk)
    if (counter === undefined || !isRecord(chunk.usage)) return meaning
    const usage = counter.add(chunk)
    return { ...meaning, out: counter.withoutUsage(chunk), ...(usage && { usage }) }
  }
}

/** A quote in a text is escaped, so these bytes are a member. */
function withReason(data: string): string {
  return data.replaceAll(EMPTY_REASON, '"finish_reason":null')
}

const EMPTY_REASON = '"finish_reason":""'

/** Nothing, or a verdict on content. Clients read the first choice of every event without a check. */
function isEmpty(data: string, { out, usage }: WireMeaning): boolean {
  if (out !== 'same' || usage !== undefined) return false
  return data.trim() === 'null' || NO_CHOICES.test(data)
}

const NO_CHOICES = /"choices":\s?\[\]/

/** Whether every requested choice has ended. */
class Endings {
  readonly #asked: number
  readonly #ended = new Set<number>()

  constructor({ choices }: Sent<CompletionsRequest>) {
    this.#asked = choices
  }

  see({ choices }: Chunk): void {
    for (const choice of listOf(choices).map(recordOf)) {
      if (this.#ended.size < this.#asked && isFinished(choice)) this.#ended.add(indexOf(choice))
    }
  }

  /**
   * At the end of the stream: the client would treat a partial answer as complete. A single choice may end without a
   * reason.
   */
  failure(): Failure | undefined {
    if (this.#asked === 1 || this.#ended.size >= this.#asked) return undefined
    return unlikeAsked(`The answer ended after ${this.#ended.size} of ${this.#asked} choices.`)
  }
}
