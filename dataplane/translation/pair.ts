/** Joins the client's wire and the upstream's: answers pass unchanged, or go through the inner form. */

import { KeptText } from '../base/kept-text.ts'
import type { Dialect } from '../wire/dialect.ts'
import type { ModelRequest, Operation, Sent } from '../wire/inner-form.ts'
import type { Inspection } from '../wire/inspection.ts'
import type {
  AnswerOrigin,
  Failure,
  NativeWire,
  Passed,
  Provider,
  ProviderOperation,
  ProviderSettings,
  SameWire,
  UpstreamRequest,
  WireReader,
  Workaround,
} from '../wire/provider.ts'
import { Unsupported, unsupported } from '../wire/unsupported.ts'
import { settledAnswer } from './calls.ts'
import { passingOf } from './either-reader.ts'
import { fitted } from './fit.ts'
import { namesOf } from './names.ts'
import { PassedCallsReader, passedBody } from './passed-calls.ts'
import { PassingReader } from './passing-reader.ts'
import { carried } from './pictures.ts'
import { factsOf, Translated } from './translated.ts'
import { writtenJson } from './written.ts'

/** The functions of both wires that an attempt needs. */
export interface Pair {
  encode(
    request: ModelRequest,
    settings: ProviderSettings,
    maxTokens: number | undefined,
  ): UpstreamRequest
  /** Parameters that this upstream does not get, by the client's names; absent: it gets all of them. */
  lost?(request: ModelRequest, settings: ProviderSettings): readonly string[] | undefined
  decode(body: Buffer, request: Sent<ModelRequest>, origin: AnswerOrigin): Passed | Inspection
  /** undefined if the operation has no streams. `kept` counts the bytes that the reader stores between events. */
  openStream(
    request: Sent<ModelRequest>,
    origin: AnswerOrigin,
    kept?: KeptText,
  ): WireReader | undefined
  /** Another form that the upstream may accept after this failure. */
  workaround?(failure: Failure): Workaround | undefined
  readonly counts?: string
  readonly kept?: NativeWire['kept']
}

/** Cache of pairs by operation of a provider, then by dialect. */
const made = new WeakMap<object, Map<Dialect, Pair>>()

/** undefined if the provider does not support the operation. `native`: further wires that the upstream supports. */
export function pairOf(
  dialect: Dialect,
  provider: Provider,
  native?: readonly string[],
): Pair | undefined {
  const operation: ProviderOperation | undefined = provider.operations[dialect.operation]
  if (operation === undefined) return undefined
  if (native?.includes(dialect.wire)) return nativePair(dialect, operation, provider)
  const known = made.get(operation)?.get(dialect)
  if (known !== undefined) return known
  const pairs = made.get(operation) ?? new Map<Dialect, Pair>()
  made.set(operation, pairs)
  const { sameWire } = operation
  const pair: Pair =
    sameWire?.wire === dialect.wire
      ? {
          encode: encodeWith(operation, provider, {
            isTranslated: ({ isRewritten }) => isRewritten === true,
            passes: true,
          }),
          lost: ({ isRewritten, dropped }: ModelRequest) => (isRewritten ? dropped : undefined),
          ...passingOf(withCalls(sameWire), translation(dialect, operation, provider), operation),
          ...(sameWire.workaround && { workaround: sameWire.workaround }),
          ...(sameWire.counts && { counts: sameWire.counts }),
        }
      : translation(dialect, operation, provider)
  pairs.set(dialect, pair)
  return pair
}

const madeNative = new WeakMap<object, Pair>()

/** Bytes pass, although the provider's own wire is another one. */
function nativePair(
  dialect: Dialect,
  operation: ProviderOperation,
  { calls }: Provider,
): Pair | undefined {
  const native = operation.natives?.find(({ wire }) => wire === dialect.wire)
  if (native === undefined) return undefined
  const known = madeNative.get(native)
  if (known !== undefined) return known
  const { passing } = dialect
  const pair: Pair = {
    lost: ({ unsent }, { allow }) =>
      unsent?.filter(({ extra }) => !allow?.includes(extra)).map(({ param }) => param),
    encode: (request, settings, maxTokens) =>
      native.encode(fitted(request, calls, settings.capabilities, true), settings, maxTokens),
    decode(body, request) {
      const passed = decodePassing(native, body, request)
      if (passed.kind === 'failure' || passing === undefined) return passed
      return { ...passed, body: passing.answer(passed.body, request) }
    },
    openStream(request, _origin, kept = new KeptText()) {
      const reader = native.openStream?.(request, kept)
      if (reader === undefined) return undefined
      if (passing === undefined) return passingCalls(reader, request, kept)
      const passed = new PassingReader(reader, passing.open(request, kept), kept)
      return passingCalls(passed, request, kept)
    },
    ...(native.workaround && { workaround: native.workaround }),
    ...(native.counts && { counts: native.counts }),
    ...(native.kept && { kept: native.kept }),
  }
  madeNative.set(native, pair)
  return pair
}

export function serves({ operations }: Provider, operation: Operation): boolean {
  return operations[operation] !== undefined
}

/** Any part may have a cache mark, so the bytes are searched: a quote inside a text has a backslash before it. */
const MARK = Buffer.from('"cache_control"')

function translation(dialect: Dialect, operation: ProviderOperation, provider: Provider): Pair {
  return {
    encode: encodeWith(operation, provider, { isTranslated: () => true, passes: false }),
    lost({ dropped, forwarded, bytes }) {
      const hint = dialect.hint !== undefined && forwarded?.[dialect.hint] !== undefined
      const isUnmarked = provider.cacheable === undefined && bytes.includes(MARK)
      if (!hint && !isUnmarked) return dropped
      return [
        ...(dropped ?? []),
        ...(isUnmarked ? ['cache_control'] : []),
        ...(hint ? [dialect.hint] : []),
      ]
    },
    decode(body, request, origin) {
      const decoded = carried(operation.decode(body, request, origin), request)
      if (decoded.kind === 'failure') return decoded
      const { usage } = decoded
      const answer = settledAnswer(decoded.answer, namesOf(request))
      const facts = factsOf(answer, { origin, operation })
      const written = writtenJson(dialect.writeAnswer(answer, usage, request), body.length)
      if (typeof written === 'string') return { kind: 'body', body: written, usage, facts }
      const passed = written.then((body) => ({ kind: 'body', body, usage, facts }) as const)
      // No code waits for it if no client gets the answer, and an unhandled failure would end the process.
      passed.catch(() => undefined)
      return { kind: 'inspected', usage, passed }
    },
    openStream(request, origin, kept = new KeptText()) {
      const reader = operation.openStream?.(request, origin, kept)
      const writer = dialect.openWriter?.(request, kept)
      if (reader === undefined || writer === undefined) return undefined
      const parts = { reader, writer, names: namesOf(request), source: { origin, operation } }
      return new Translated(parts, request)
    },
  }
}

/** Refuses parameters that the inner form lacks if the request is translated, and values that mean no limit. */
function encodeWith(
  operation: ProviderOperation,
  { name, noLimits, calls }: Provider,
  { isTranslated, passes }: Passing,
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
    const fit = fitted(request, calls, settings.capabilities, passes)
    return operation.encode(fit, settings, maxTokens)
  }
}

interface Passing {
  /** Whether the request is written from the inner form. */
  isTranslated(request: ModelRequest): boolean
  /** Whether the client speaks the upstream's wire. */
  readonly passes: boolean
}

/** Its answers, with the calls in the client's terms. */
function withCalls(wire: SameWire): SameWire {
  const { openStream } = wire
  return {
    ...wire,
    decode: (body, request) => decodePassing(wire, body, request),
    ...(openStream && {
      openStream: (request, kept) => passingCalls(openStream(request, kept), request, kept),
    }),
  }
}

function decodePassing(
  wire: Pick<SameWire, 'decode'>,
  body: Buffer,
  request: Sent<ModelRequest>,
): Passed {
  const isChat = request.operation === 'chat'
  return wire.decode(isChat ? passedBody(body, request) : body, request)
}

function passingCalls(reader: WireReader, request: Sent<ModelRequest>, kept: KeptText): WireReader {
  if (request.operation !== 'chat') return reader
  return new PassedCallsReader(reader, request, kept)
}
