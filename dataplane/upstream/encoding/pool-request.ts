/** Makes the request of an attempt: encoded for the upstream's wire, with headers, signed if required. */

import type { Clock } from '../../base/clock.ts'
import type { Caller } from '../../call/call.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { PoolRequest } from '../../connection/http1/contract.ts'
import { rowOf } from '../../json/values.ts'
import { refuseExtras } from '../../providers/extras/asked.ts'
import { TooManyInputs } from '../../providers/inputs.ts'
import type { Continued } from '../../telemetry/correlation.ts'
import { piecesOf } from '../../tokens/pieces.ts'
import { keepNames, namesOf } from '../../translation/names.ts'
import type { Pair } from '../../translation/pair.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import type { FinalRequest, Headers, UpstreamRequest, WrittenRequest } from '../../wire/provider.ts'
import { Unsupported } from '../../wire/unsupported.ts'
import { salted } from '../credentials/caller.ts'
import type { Target } from '../live/targets.ts'
import { askingFor } from './asked-parameters.ts'
import { withMembers, withVendors } from './sent-members.ts'

/** A request in an upstream's wire. */
export interface Encoded<Upstream = UpstreamRequest> {
  /** The request without unsupported parameters. */
  readonly request: ModelRequest
  readonly upstream: Upstream
  /** Parameters that the upstream does not get. */
  readonly dropped: readonly string[] | undefined
  /** Parameters that the gateway has set, for the trace; absent: none. */
  readonly set?: readonly string[]
  /** The index of the key that it carries, if the upstream has several. */
  readonly key?: number | undefined
  /** The calls, if the upstream accepts fewer inputs per call; undefined: one call. */
  readonly calls?: readonly Pick<Encoded<Upstream>, 'request' | 'upstream'>[]
  /** The wires of the encoding. */
  readonly pair: Pair
}

export interface RequestEncoding {
  /** The client's wire and the target's. */
  readonly pair: Pair
  readonly settings: UpstreamSettings
  /** Limit of tokens to send if the client gave none. */
  readonly maxTokens: number | undefined
  /** Whether the route drops unsupported parameters. */
  readonly drops: boolean
  /** Absent if the request does not come from a client. */
  readonly caller?: Caller | undefined
}

/** Most rounds; each drops at least one parameter, and then the provider's refusal counts. */
const ROUNDS_MAX = 8

/**
 * Throws `Unsupported` for parameters that the wire cannot express, unless `drops`, or the gateway has set them, and
 * they can be left out.
 */
export function encodeFor(asked: ModelRequest, encoding: RequestEncoding): Encoded {
  const { settings } = encoding
  if (settings.parameters === undefined) return encoded(asked, encoding)
  const asking = askingFor(asked, settings, encoding.maxTokens)
  const { request, maxTokens, names, shown } = asking
  const written = encoded(request, { ...encoding, maxTokens }, names)
  const { upstream, shown: more = [] } = withMembers(written.upstream, written.request, settings)
  const calls = written.calls?.map((call) => ({
    ...call,
    upstream: withMembers(call.upstream, call.request, settings).upstream,
  }))
  return {
    ...written,
    request: ofClient(written.request, asked, maxTokens),
    upstream,
    ...(calls && { calls }),
    set: [...shown, ...more],
  }
}

/** Answers are written for the client's bytes, with the limit that was sent. */
function ofClient(
  request: ModelRequest,
  { bytes, found, spans }: ModelRequest,
  maxTokens: number | undefined,
): ModelRequest {
  const names = request.bytes === bytes ? undefined : namesOf(request)
  if (names !== undefined) keepNames({ bytes }, names)
  return { ...request, bytes, found, spans, maxTokens: request.maxTokens ?? maxTokens }
}

/** `own`: the parameters that the gateway has set. */
function encoded(
  asked: ModelRequest,
  encoding: RequestEncoding,
  own?: ReadonlySet<string>,
): Encoded {
  const { pair, settings, maxTokens, drops, caller } = encoding
  const refused = refusedIn(asked, settings.capabilities)
  let request = (refused && without(asked, refused)) ?? asked
  let dropped = joined(refused, pair.lost?.(asked, settings))
  for (let round = 1; ; round++) {
    try {
      refuseExtras(request, settings.provider, settings.allow)
      const made = pair.encode(request, settings, maxTokens)
      const sent = withVendors(made, request, joined(dropped, made.lost), settings)
      const upstream = salted(sent.upstream, request, settings, caller)
      return { request, upstream, dropped: sent.dropped, pair }
    } catch (error) {
      if (error instanceof TooManyInputs && !error.isBeyond(inputsOf(request)))
        return { ...inCalls(request, error.most, encoding), dropped }
      if (!(error instanceof Unsupported) || round === ROUNDS_MAX) throw error
      if (!drops && !error.params.every((name) => own?.has(name))) throw error
      const smaller = without(request, error.params)
      if (smaller === undefined) throw error
      request = smaller
      dropped = [...(dropped ?? []), ...error.params]
    }
  }
}

/** The members that the model has refused; undefined: the request has none of them, as most. */
function refusedIn(
  { body, spans }: ModelRequest,
  { refused }: Capabilities,
): readonly string[] | undefined {
  const there = refused?.filter((name) => Object.hasOwn(body, name) || spans.has(name)) ?? []
  return there.length > 0 ? there : undefined
}

/** Each name once. */
function joined(
  dropped: readonly string[] | undefined,
  lost: readonly string[] | undefined,
): readonly string[] | undefined {
  if (lost === undefined || lost.length === 0) return dropped
  return [...new Set([...(dropped ?? []), ...lost])]
}

function inputsOf(request: ModelRequest): number {
  return request.operation === 'embeddings' ? request.items : 1
}

/** Splits the request by its inputs. */
function inCalls(
  request: ModelRequest,
  most: number,
  { pair, settings, maxTokens }: RequestEncoding,
): Pick<Encoded, 'request' | 'upstream' | 'pair' | 'calls'> {
  const calls = piecesOf(request, most).map((piece) => ({
    request: piece,
    upstream: pair.encode(piece, settings, maxTokens),
  }))
  const [first] = calls
  // A batch that is too large is not empty.
  const { upstream } = first as NonNullable<typeof first>
  return { request, upstream, pair, calls }
}

/** Members that a request cannot drop. */
const NEEDED: ReadonlySet<string> = new Set(['model', 'messages', 'input', 'prompt', 'stream'])
/** Members that have no meaning without another one. */
const DEPENDENTS: Readonly<Record<string, readonly string[]>> = {
  functions: ['function_call'],
  logprobs: ['top_logprobs'],
  modalities: ['audio'],
  tools: ['tool_choice', 'parallel_tool_calls'],
}

/** undefined if one of the members cannot be dropped. */
function without(request: ModelRequest, params: readonly string[]): ModelRequest | undefined {
  const { unlimited, spans, extras } = request
  const isThere = (name: string) =>
    Object.hasOwn(request.body, name) || spans.has(name) || name === unlimited?.member
  if (params.some((name) => NEEDED.has(name) || !isThere(name))) return undefined
  const names = params.flatMap((name) => [name, ...(rowOf(DEPENDENTS, name) ?? [])])
  const omitted = new Set([...(request.omitted ?? []), ...names])
  const kept = Object.entries(request.body).filter(([name]) => !omitted.has(name))
  const single = request.operation === 'completions' ? request.prompts : 1
  // The members that the form requires are still present.
  const body = Object.fromEntries(kept) as ModelRequest['body'] & never
  return {
    ...request,
    body,
    omitted,
    ...(extras && { extras: extras.filter(({ param }) => !omitted.has(param)) }),
    choices: omitted.has('n') ? single : request.choices,
    ...(omitted.has('dimensions') && { dimensions: undefined }),
    ...(unlimited && params.includes(unlimited.member) && { unlimited: undefined }),
  }
}

export interface Sending
  extends Pick<Encoded<WrittenRequest>, 'request' | 'upstream'>,
    Pick<RequestEncoding, 'maxTokens'> {
  readonly target: Target
  readonly gateway: { readonly clock: Clock }
}

/** `settings`: the target's, with the present credential. */
export function poolRequestOf(
  { upstream, target, gateway }: Sending,
  settings: UpstreamSettings,
  { requestId, headers }: Continued,
): PoolRequest {
  const body = typeof upstream.body === 'string' ? Buffer.from(upstream.body) : upstream.body
  const path = settings.basePath + upstream.path
  const { rest } = upstream
  const signed = { path, headers: upstream.headers, body, rest }
  const signature = signatureOf(signed, settings, gateway.clock)
  return {
    path,
    headers: target.headersOf(upstream.headers),
    requestId,
    ownHeaders:
      signature === undefined ? headers : [...headers, ...Object.entries(signature).flat()],
    body,
    rest,
  }
}

/** undefined if the provider signs nothing. */
export function signatureOf(
  final: Pick<FinalRequest, 'path' | 'headers' | 'body' | 'rest'>,
  settings: UpstreamSettings,
  clock: Clock,
): Headers | undefined {
  const { provider, origin } = settings
  return provider.sign?.({ ...final, method: 'POST', origin, wallMs: clock.wall() }, settings)
}
