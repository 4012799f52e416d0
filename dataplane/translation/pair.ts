/** The client's wire and the upstream's, joined: answers pass as they are, or go through the inner form. */

import { KeptText } from '../base/kept-text.ts'
import { BAD_INDEX, indexIn } from '../providers/answers/blocks.ts'
import { AnswerFacts, idIn } from '../wire/answer-facts.ts'
import type { Dialect, StreamWriter } from '../wire/dialect.ts'
import type {
  Answer,
  AnswerEvent,
  ChatDelta,
  ChatEvent,
  ModelRequest,
  Operation,
  Sent,
  Usage,
} from '../wire/inner-form.ts'
import type { Inspection } from '../wire/inspection.ts'
import type {
  AnswerOrigin,
  Concession,
  Failure,
  NativeWire,
  Passed,
  Provider,
  ProviderOperation,
  ProviderSettings,
  StreamReader,
  UpstreamRequest,
  WireMeaning,
  WireReader,
} from '../wire/provider.ts'
import { Unsupported, unsupported } from '../wire/unsupported.ts'
import { passingOf } from './either-reader.ts'
import { PassingReader } from './passing-reader.ts'
import { writtenJson } from './written.ts'

/** All that an attempt needs of the two wires. */
export interface Pair {
  encode(
    request: ModelRequest,
    settings: ProviderSettings,
    maxTokens: number | undefined,
  ): UpstreamRequest
  /** The parts of a request that this upstream does not see, as the client knows them; absent: it sees all. */
  lost?(request: ModelRequest, settings: ProviderSettings): readonly string[] | undefined
  decode(body: Buffer, request: Sent<ModelRequest>, origin: AnswerOrigin): Passed | Inspection
  /** undefined where the operation has no streams. `kept` counts what is remembered of this one between its events. */
  openStream(
    request: Sent<ModelRequest>,
    origin: AnswerOrigin,
    kept?: KeptText,
  ): WireReader | undefined
  /** The form in which the upstream may take a request that it has answered with this failure. */
  concession?(failure: Failure): Concession | undefined
  readonly counts?: string
  readonly kept?: NativeWire['kept']
}

/** Pairs by operation of a provider, then by dialect: a handful for the life of the process. */
const made = new WeakMap<object, Map<Dialect, Pair>>()

/** undefined where the provider cannot do the operation. `native` are the wires that the upstream speaks beside its own. */
export function pairOf(
  dialect: Dialect,
  provider: Provider,
  native?: readonly string[],
): Pair | undefined {
  const operation: ProviderOperation | undefined = provider.operations[dialect.operation]
  if (operation === undefined) return undefined
  if (native?.includes(dialect.wire)) return nativePair(dialect, operation)
  const known = made.get(operation)?.get(dialect)
  if (known !== undefined) return known
  const pairs = made.get(operation) ?? new Map<Dialect, Pair>()
  made.set(operation, pairs)
  const { sameWire } = operation
  const pair: Pair =
    sameWire?.wire === dialect.wire
      ? {
          encode: encodeWith(operation, provider, ({ isRewritten }) => isRewritten === true),
          lost: ({ isRewritten, dropped }: ModelRequest) => (isRewritten ? dropped : undefined),
          ...passingOf(sameWire, translation(dialect, operation, provider), operation),
          ...(sameWire.concession && { concession: sameWire.concession }),
          ...(sameWire.counts && { counts: sameWire.counts }),
        }
      : translation(dialect, operation, provider)
  pairs.set(dialect, pair)
  return pair
}

const madeNative = new WeakMap<object, Pair>()

/** Bytes pass, though the provider's own wire is another one. */
function nativePair(dialect: Dialect, operation: ProviderOperation): Pair | undefined {
  const native = operation.natives?.find(({ wire }) => wire === dialect.wire)
  if (native === undefined) return undefined
  const known = madeNative.get(native)
  if (known !== undefined) return known
  const { passing } = dialect
  const pair: Pair = {
    lost: ({ unsent }, { allow }) =>
      unsent?.filter(({ extra }) => !allow?.includes(extra)).map(({ param }) => param),
    encode: (request, settings, maxTokens) => native.encode(request, settings, maxTokens),
    decode(body, request) {
      const passed = native.decode(body, request)
      if (passed.kind === 'failure' || passing === undefined) return passed
      return { ...passed, body: passing.answer(passed.body, request) }
    },
    openStream(request, _origin, kept = new KeptText()) {
      const reader = native.openStream?.(request, kept)
      if (reader === undefined || passing === undefined) return reader
      return new PassingReader(reader, passing.open(request, kept), kept)
    },
    ...(native.concession && { concession: native.concession }),
    ...(native.counts && { counts: native.counts }),
    ...(native.kept && { kept: native.kept }),
  }
  madeNative.set(native, pair)
  return pair
}

export function serves({ operations }: Provider, operation: Operation): boolean {
  return operations[operation] !== undefined
}

/** Any part may ask for a place in the cache, so the bytes are searched: a quote within a text has a backslash. */
const MARK = Buffer.from('"cache_control"')

function translation(dialect: Dialect, operation: ProviderOperation, provider: Provider): Pair {
  return {
    encode: encodeWith(operation, provider, () => true),
    lost({ dropped, forwarded, bytes }) {
      const hint = dialect.hint !== undefined && forwarded?.[dialect.hint] !== undefined
      const isUnmarked = provider.takesCacheMarks !== true && bytes.includes(MARK)
      if (!hint && !isUnmarked) return dropped
      return [
        ...(dropped ?? []),
        ...(isUnmarked ? ['cache_control'] : []),
        ...(hint ? [dialect.hint] : []),
      ]
    },
    decode(body, request, origin) {
      const decoded = operation.decode(body, request, origin)
      if (decoded.kind === 'failure') return decoded
      const { answer, usage } = decoded
      const facts = factsOf(answer, { origin, operation })
      const written = writtenJson(dialect.writeAnswer(answer, usage, request), body.length)
      if (typeof written === 'string') return { kind: 'body', body: written, usage, facts }
      const passed = written.then((body) => ({ kind: 'body', body, usage, facts }) as const)
      return { kind: 'inspected', usage, passed }
    },
    openStream(request, origin, kept = new KeptText()) {
      const reader = operation.openStream?.(request, origin, kept)
      const writer = dialect.openWriter?.(request, kept)
      if (reader === undefined || writer === undefined) return undefined
      return new Translated({ reader, writer, source: { origin, operation } }, request.choices)
    },
  }
}

/** Refuses what is missing in the inner form where the request is written out of it, and limits that say no limit. */
function encodeWith(
  operation: ProviderOperation,
  { name, noLimits }: Provider,
  isTranslated: (request: ModelRequest) => boolean,
): Pair['encode'] {
  return (request, settings, maxTokens) => {
    const { untranslated: lack, unlimited } = request
    if (lack !== undefined && isTranslated(request))
      throw new Unsupported(lack.message, [lack.param])
    if (unlimited !== undefined && !noLimits?.includes(unlimited.value))
      throw unsupported(
        name,
        unlimited.member,
        `send a whole number from 1 or leave ${unlimited.member} out`,
      )
    return operation.encode(request, settings, maxTokens)
  }
}

interface TranslatedParts {
  readonly reader: StreamReader<AnswerEvent>
  readonly writer: StreamWriter<AnswerEvent>
  readonly source: Source
}

/** A stream that is read into the inner form and written out of it. */
export class Translated implements WireReader {
  readonly passesComments = false
  readonly facts = new AnswerFacts()
  readonly #reader: StreamReader<AnswerEvent>
  readonly #writer: StreamWriter<AnswerEvent>
  readonly #source: Source
  readonly #choices: number
  readonly #ended = new Set<number>()

  constructor({ reader, writer, source }: TranslatedParts, choices: number) {
    this.#reader = reader
    this.#writer = writer
    this.#source = source
    this.#choices = choices
  }

  read(event: Parameters<WireReader['read']>[0]): WireMeaning {
    const { events, ...meaning } = this.#reader.read(event)
    let out = ''
    for (const one of events) {
      if (isEnd(one)) this.#end(one)
      else if (isMisnumbered(one)) return { ...MISNUMBERED, ...meaning }
      out += this.#writer.write(one.kind === 'start' ? this.#begin(one) : one)
    }
    const content = events.some(isDelta)
    return {
      ...meaning,
      out,
      content,
      ...(content && { said: events.map(saidIn).join('') }),
      finished: this.#ended.size >= this.#choices,
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
    if (this.#ended.size < this.#choices) this.#ended.add(choice)
    this.facts.end(choice, finish)
  }
}

/** Reads them out of an answer in the inner form. */
export function factsOf(answer: Answer, source: Source): AnswerFacts {
  const facts = new AnswerFacts()
  if ('model' in answer) begin(facts, answer, source)
  if ('choices' in answer)
    for (const [choice, { finish }] of answer.choices.entries()) facts.end(choice, finish)
  return facts
}

/** Ids in the inner form look like OpenAI's, and wires without ids get one of ours: neither is what the upstream says. */
function begin(facts: AnswerFacts, { id, model }: Begun, { origin, operation }: Source): void {
  const isOpenAi = operation.sameWire?.wire.startsWith('openai-')
  const said = isOpenAi ? id : id?.replace(/^chatcmpl-/, '')
  facts.begin(said === 'unknown' || said === origin.id ? undefined : said, model)
}

/** The upstream of an answer, and how it speaks. */
export interface Source {
  readonly origin: AnswerOrigin
  readonly operation: Pick<ProviderOperation, 'sameWire'>
}

interface Begun {
  readonly id?: string
  readonly model?: string
}

const MISNUMBERED = { out: '', content: false, finished: false, done: false, failure: BAD_INDEX }

function isMisnumbered(event: AnswerEvent): boolean {
  if (event.kind !== 'delta' || !('call' in event.delta)) return false
  return event.delta.call !== undefined && indexIn(event.delta.call.index) === undefined
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
