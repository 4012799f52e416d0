/** Reads a stream of a response into the inner form. */
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, type Json, parsed, recordOf, textOf } from '../../json/values.ts'
import type { ChatDelta, ChatEvent } from '../../wire/inner-form.ts'
import type { Meaning, StreamReader, WireEvent } from '../../wire/provider.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { BROKEN, isBroken } from '../answers/faults.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { usageOf } from '../native/responses-answer.ts'
import { CLIENTS, finishOf } from './answer.ts'

/** An event of a response has its type beside its data, or at the start of it. */
const TYPED = /^\s*\{\s*"type"\s*:\s*"response\./

export function isOfResponse({ event, data }: WireEvent): boolean {
  return event.startsWith('response.') || TYPED.test(data)
}

/** The member of a delta, by the type of its event. */
const WORDS: Readonly<Record<string, 'text' | 'refusal' | 'reasoning'>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'refusal',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_text.delta': 'reasoning',
}
const NOTHING: Meaning<ChatEvent> = { events: [], done: false }

interface Call {
  readonly index: number
  hasArguments: boolean
}

export class ResponseReader implements StreamReader<ChatEvent> {
  readonly #recognisers: readonly Recogniser[]
  readonly #kept: KeptText
  readonly #calls = new Map<unknown, Call>()
  readonly #ids: CallIds
  #hasBegun = false

  constructor(asked: Asked, recognisers: readonly Recogniser[], kept: KeptText) {
    this.#ids = new CallIds(asked)
    this.#recognisers = [CLIENTS, ...recognisers]
    this.#kept = kept
  }

  read({ event: name, data }: WireEvent): Meaning<ChatEvent> {
    const event = parsed(data)
    if (isBroken(data, event)) return { ...NOTHING, failure: BROKEN }
    if (!isRecord(event)) return NOTHING
    const type = textOf(event.type) ?? name
    const response = recordOf(event.response)
    switch (type) {
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(response)
      case 'response.failed':
        return { ...NOTHING, failure: classifyError(this.#recognisers, response) }
      case 'error': {
        const error = isRecord(event.error) ? event : { error: event }
        return { ...NOTHING, failure: classifyError(this.#recognisers, error) }
      }
    }
    return { events: [...this.#begin(response), ...this.#deltas(type, event)], done: false }
  }

  #begin({ id, model }: Json): ChatEvent[] {
    if (this.#hasBegun) return []
    this.#hasBegun = true
    return [{ kind: 'start', id: textOf(id) ?? 'unknown', model: textOf(model) ?? '' }]
  }

  #end(response: Json): Meaning<ChatEvent> {
    const usage = usageOf(response.usage)
    const finish = finishOf(response, this.#calls.size > 0)
    const events: ChatEvent[] = [...this.#begin(response), { kind: 'end', choice: 0, finish }]
    return { events, done: true, ...(usage && { usage }) }
  }

  #deltas(type: string, event: Json): ChatEvent[] {
    const { delta, item, output_index: place } = event
    const member = WORDS[type]
    const words = textOf(delta)
    if (member !== undefined) return words === undefined ? [] : [deltaOf({ [member]: words })]
    if (type === 'response.function_call_arguments.delta') return this.#grow(place, words)
    const whole = recordOf(item)
    if (whole.type !== 'function_call') return []
    if (type === 'response.output_item.added') return this.#call(place, whole, '')
    return type === 'response.output_item.done' ? this.#done(place, whole) : []
  }

  #call(place: unknown, { call_id: id, name }: Json, text: string): ChatEvent[] {
    const index = this.#calls.size
    const callId = this.#ids.of(textOf(id), String(index))
    const called = textOf(name) ?? ''
    this.#kept.keepEntry(callId, called)
    this.#calls.set(place, { index, hasArguments: text !== '' })
    return [deltaOf({ call: { index, id: callId, name: called, arguments: text } })]
  }

  #grow(place: unknown, text: string | undefined): ChatEvent[] {
    const call = this.#calls.get(place)
    if (call === undefined || text === undefined) return []
    call.hasArguments = true
    return [deltaOf({ call: { index: call.index, arguments: text } })]
  }

  /** A server may send a complete call in one event. */
  #done(place: unknown, item: Json): ChatEvent[] {
    const text = textOf(item.arguments) ?? ''
    const call = this.#calls.get(place)
    if (call === undefined) return this.#call(place, item, text)
    return call.hasArguments ? [] : this.#grow(place, text === '' ? '{}' : text)
  }
}

function deltaOf(delta: ChatDelta): ChatEvent {
  return { kind: 'delta', choice: 0, delta }
}
