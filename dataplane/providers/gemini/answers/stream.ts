/** Reads Gemini's stream, whose events are parts of an answer. */

import type { KeptText } from '../../../base/kept-text.ts'
import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedExactly,
  recordOf,
  textOf,
} from '../../../json/values.ts'
import type { ChatDelta, ChatEvent, ChatRequest, Sent } from '../../../wire/inner-form.ts'
import type { AnswerOrigin, Meaning, StreamReader } from '../../../wire/provider.ts'
import { isBroken } from '../../answers/faults.ts'
import { classifyError } from '../../failures/classify.ts'
import { BROKEN } from '../framing.ts'
import { type AnswerReaders, isErrorBody } from './answer.ts'
import {
  type Answered,
  answeredBy,
  blockIn,
  CallReader,
  countsIn,
  failureIn,
  finishReason,
  PictureReader,
  partsIn,
  readUsage,
  refusalIn,
} from './candidates.ts'
import { logprobsIn } from './logprobs.ts'

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }

/** The progress of one choice. */
interface ChoiceState {
  calls: number
  hasText: boolean
  ended: boolean
}

export function openAnswerStream(
  request: Sent<ChatRequest>,
  origin: AnswerOrigin,
  reading: AnswerReaders,
  kept: KeptText,
): StreamReader<ChatEvent> {
  const stream = new AnswerStream(request, origin, reading, kept)
  return {
    read({ data }) {
      const event = parsedExactly(data, 'functionCall')
      if (isErrorBody(event)) {
        return { ...NOTHING, failure: classifyError(reading.recognisers, event) }
      }
      if (isBroken(data, event)) return { ...NOTHING, failure: BROKEN }
      return isRecord(event) ? stream.read(event) : NOTHING
    },
  }
}

class AnswerStream {
  readonly #request: Sent<ChatRequest>
  readonly #origin: AnswerOrigin
  readonly #calls: CallReader
  readonly #pictures: PictureReader
  readonly #choices: readonly ChoiceState[]
  #answered: Answered | undefined
  #usage: Json = {}

  constructor(
    request: Sent<ChatRequest>,
    origin: AnswerOrigin,
    { signatures }: AnswerReaders,
    kept: KeptText,
  ) {
    this.#request = request
    this.#origin = origin
    this.#calls = new CallReader(origin, request, signatures, kept)
    this.#pictures = new PictureReader(origin, request, signatures)
    this.#choices = Array.from({ length: request.choices }, () => ({
      calls: 0,
      hasText: false,
      ended: false,
    }))
  }

  read(event: Json): Meaning<ChatEvent> {
    const candidates = listOf(event.candidates).map(recordOf)
    const failure = candidates.map(failureIn).find((one) => one !== undefined)
    const block = blockIn(event)
    const events = this.#begin(event)
    if (this.#answered !== undefined) {
      for (const candidate of candidates) events.push(...this.#eventsOf(candidate, this.#answered))
    }
    if (block !== undefined && candidates.length === 0) events.push(...this.#blocked(block))
    const usage = this.#count(event.usageMetadata)
    return { events, done: false, ...(usage && { usage }), ...(failure && { failure }) }
  }

  #begin(event: Json): ChatEvent[] {
    if (this.#answered !== undefined) return []
    if (!Array.isArray(event.candidates) && blockIn(event) === undefined) return []
    this.#answered = answeredBy(event, this.#origin)
    return [{ kind: 'start', ...this.#answered }]
  }

  #eventsOf(candidate: Json, answered: Answered): ChatEvent[] {
    const index = countOf(candidate.index) ?? 0
    const choice = this.#choices[index]
    if (choice === undefined || choice.ended) return []
    const deltas = partsIn(candidate).flatMap((part) =>
      this.#deltaOf(part, choice, index, answered),
    )
    const logprobs = logprobsIn(candidate)
    const events = deltas.map((delta, position): ChatEvent => {
      const counted = position === 0 ? { ...delta, ...logprobs } : delta
      return { kind: 'delta', choice: index, delta: counted }
    })
    const isOver = textOf(candidate.finishReason) !== undefined
    if (!isOver || failureIn(candidate) !== undefined) return events
    return [...events, ...this.#end(choice, index, candidate)]
  }

  #deltaOf(part: Json, choice: ChoiceState, index: number, answered: Answered): ChatDelta[] {
    if (isRecord(part.functionCall)) {
      if (this.#request.oneCall && choice.calls > 0) return []
      const number = choice.calls++
      return [{ call: { index: number, ...this.#calls.read(part, answered, index, number) } }]
    }
    const picture = this.#pictures.read(part)
    if (picture !== undefined) return [{ picture }]
    const text = textOf(part.text)
    if (text === undefined) return []
    if (part.thought === true) return [{ reasoning: text }]
    choice.hasText = true
    return [{ text }]
  }

  #end(choice: ChoiceState, index: number, candidate: Json): ChatEvent[] {
    choice.ended = true
    const refusal = choice.hasText ? undefined : refusalIn(candidate)
    if (refusal !== undefined) return this.#refuse(choice, index, refusal)
    const finish = finishReason(candidate.finishReason, choice.calls > 0)
    return [{ kind: 'end', choice: index, finish }]
  }

  #blocked(refusal: string): ChatEvent[] {
    return this.#choices.flatMap((choice, index) =>
      choice.ended ? [] : this.#refuse(choice, index, refusal),
    )
  }

  #refuse(choice: ChoiceState, index: number, refusal: string): ChatEvent[] {
    choice.ended = true
    return [
      { kind: 'delta', choice: index, delta: { refusal } },
      { kind: 'end', choice: index, finish: 'content_filter' },
    ]
  }

  /** Counts are cumulative, but some events lack some of them. */
  #count(usage: unknown) {
    if (!isRecord(usage)) return undefined
    this.#usage = { ...this.#usage, ...countsIn(usage) }
    return readUsage(this.#usage)
  }
}
