/** A stream that is read into the inner form and written from it, and the facts of answers in that form. */
import { BAD_INDEX, indexIn } from '../providers/answers/blocks.ts'
import { AnswerFacts, idIn } from '../wire/answer-facts.ts'
import type { StreamWriter } from '../wire/dialect.ts'
import type {
  Answer,
  AnswerEvent,
  ChatDelta,
  ChatEvent,
  ModelRequest,
  Sent,
  Usage,
} from '../wire/inner-form.ts'
import type {
  AnswerOrigin,
  ProviderOperation,
  StreamReader,
  WireMeaning,
  WireReader,
} from '../wire/provider.ts'
import { type CallNames, StreamedCalls } from './calls.ts'
import { PICTURED } from './pictures.ts'

interface TranslatedParts {
  readonly reader: StreamReader<AnswerEvent>
  readonly writer: StreamWriter<AnswerEvent>
  readonly names: CallNames | undefined
  readonly source: Source
}

/** A stream that is read into the inner form and written from it. */
export class Translated implements WireReader {
  readonly passesComments = false
  readonly facts = new AnswerFacts()
  readonly #reader: StreamReader<AnswerEvent>
  readonly #writer: StreamWriter<AnswerEvent>
  readonly #source: Source
  readonly #calls: StreamedCalls
  readonly #request: Sent<ModelRequest>
  readonly #ended = new Set<number>()

  constructor({ reader, writer, names, source }: TranslatedParts, request: Sent<ModelRequest>) {
    this.#calls = new StreamedCalls(names)
    this.#reader = reader
    this.#writer = writer
    this.#source = source
    this.#request = request
  }

  read(event: Parameters<WireReader['read']>[0]): WireMeaning {
    const { events, ...meaning } = this.#reader.read(event)
    let out = ''
    for (const raw of events) {
      const one = this.#calls.settled(raw)
      if (isEnd(one)) this.#end(one)
      else if (isMisnumbered(one)) return { ...FAILED, failure: BAD_INDEX, ...meaning }
      else if (isPicture(one) && !this.#request.takesPictures)
        return { ...FAILED, failure: PICTURED, ...meaning }
      out += this.#writer.write(one.kind === 'start' ? this.#begin(one) : one)
    }
    const content = events.some(isDelta)
    return {
      ...meaning,
      out,
      content,
      ...(content && { said: events.map(saidIn).join('') }),
      finished: this.#ended.size >= this.#request.choices,
    }
  }

  end(usage: Usage | undefined): string {
    return this.#writer.end(usage)
  }

  /** Every event for a client repeats its id and its model. */
  #begin({ id, model }: Extract<ChatEvent, { kind: 'start' }>): ChatEvent {
    begin(this.facts, { id, model }, this.#source)
    return { kind: 'start', id: idIn(id) ?? 'unknown', model: idIn(model) ?? '' }
  }

  #end({ choice, finish }: Extract<ChatEvent, { kind: 'end' }>): void {
    if (this.#ended.size < this.#request.choices) this.#ended.add(choice)
    this.facts.end(choice, finish)
  }
}

/** Reads the facts from an answer in the inner form. */
export function factsOf(answer: Answer, source: Source): AnswerFacts {
  const facts = new AnswerFacts()
  if ('model' in answer) begin(facts, answer, source)
  if ('choices' in answer)
    for (const [choice, { finish }] of answer.choices.entries()) facts.end(choice, finish)
  return facts
}

/** Ids in the inner form look like OpenAI's, and wires without ids get a generated one: the upstream sent neither. */
function begin(facts: AnswerFacts, { id, model }: Begun, { origin, operation }: Source): void {
  const isOpenAi = operation.sameWire?.wire.startsWith('openai-')
  const said = isOpenAi ? id : id?.replace(/^chatcmpl-/, '')
  facts.begin(said === 'unknown' || said === origin.id ? undefined : said, model)
}

/** The upstream of an answer, and its wire. */
export interface Source {
  readonly origin: AnswerOrigin
  readonly operation: Pick<ProviderOperation, 'sameWire'>
}

interface Begun {
  readonly id?: string
  readonly model?: string
}

const FAILED = { out: '', content: false, finished: false, done: false }

function isMisnumbered(event: AnswerEvent): boolean {
  if (event.kind !== 'delta' || !('call' in event.delta)) return false
  return event.delta.call !== undefined && indexIn(event.delta.call.index) === undefined
}

function isPicture(event: AnswerEvent): boolean {
  return event.kind === 'delta' && 'picture' in event.delta
}

function isDelta({ kind }: ChatEvent): boolean {
  return kind === 'delta'
}

function saidIn(event: AnswerEvent): string {
  if (event.kind !== 'delta') return ''
  const { text = '', reasoning = '', refusal = '', call }: ChatDelta = event.delta
  return text + reasoning + refusal + (call?.name ?? '') + (call?.arguments ?? '')
}

function isEnd(event: ChatEvent): event is Extract<ChatEvent, { kind: 'end' }> {
  return event.kind === 'end'
}
