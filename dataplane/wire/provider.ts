/** A provider is pure translation between the inner form and one wire. */

import type { KeptText } from '../base/kept-text.ts'
import type { Unwritten } from '../json/unwritten.ts'
import type { AnswerFacts } from './answer-facts.ts'
import type { CredentialSource, Environment } from './credential-source.ts'
import type { Forms, Operation, Sent, Usage } from './inner-form.ts'
import type { AddressSettings, NativeApi, ProviderFacts } from './provider-facts.ts'

/** The settings of an upstream that a translation may depend on. */
export interface ProviderSettings extends AddressSettings {
  readonly model: string
  /** The purpose of its vectors. */
  readonly inputType?: string | undefined
  /** The written credential, or the fetched one that holds now; empty when the upstream needs none. */
  readonly credential: string
  /** Whether it was fetched from the source that `openCredentials` gave. */
  readonly isFetched?: boolean
  /** Tokens that prompt and answer may hold together, where the configuration or the facts of the provider say so. */
  readonly contextWindow?: number | undefined
  /** Extras beside tokens that clients may ask it for. */
  readonly allow?: readonly string[] | undefined
  /** Wires beside its own that it is asked in, where clients speak them; undefined: there are none. */
  readonly native?: readonly string[] | undefined
}

export interface Provider extends ProviderFacts {
  /** How its streams are cut into frames. */
  readonly framing: Framing
  readonly operations: { readonly [O in Operation]?: ProviderOperation<O> }
  /** Classifies an answer that is not 2xx. `headers` have lower-case names. */
  classify(status: number, headers: Readonly<Record<string, unknown>>, body: Buffer): Failure
  /**
   * Where a credential comes from that is fetched and expires: called where the configuration writes none, or one in a
   * form that requests do not carry. undefined: requests carry `settings.credential` as it is.
   */
  openCredentials?(settings: ProviderSettings, env: Environment): CredentialSource | undefined
  /** Headers that depend on the whole request, such as a signature; added to those of `encode`. */
  sign?(request: FinalRequest, settings: ProviderSettings): Headers
}

export type Headers = Readonly<Record<string, string>>

/** Translation between the inner form of one operation and the provider's wire. */
export interface ProviderOperation<O extends Operation = Operation> {
  /** Throws `unsupported` (unsupported.ts) for what the wire cannot say. `maxTokens` is sent where the client sets no limit. */
  encode(
    request: Forms[O]['request'],
    settings: ProviderSettings,
    maxTokens: number | undefined,
  ): UpstreamRequest
  /** Reads a whole 2xx answer. */
  decode(
    body: Buffer,
    request: Sent<Forms[O]['request']>,
    origin: AnswerOrigin,
  ): Decoded<Forms[O]['answer']>
  /** Absent if answers are never streamed. `kept` counts what the reader remembers between the events. */
  openStream?(
    request: Sent<Forms[O]['request']>,
    origin: AnswerOrigin,
    kept: KeptText,
  ): StreamReader<Forms[O]['event']>
  /** Where clients speak this very wire, what the upstream sends passes without the inner form. */
  readonly sameWire?: SameWire<O>
  /** Where requests of some models are asked in another API, whose answers `decode` and `openStream` read too. */
  readonly detour?: Detour
  /** Other wires that upstreams of this provider may speak beside it; each upstream's settings say which. */
  readonly natives?: readonly NativeWire<O>[]
}

/** Tells the answers of another API from those of the wire. */
export interface Detour {
  /** Whether requests for the model may be asked in it. */
  of(model: string): boolean
  isWhole(body: Buffer): boolean
  isEvent(event: WireEvent): boolean
}

/** Where an answer comes from, for wires whose answers leave it out. */
export interface AnswerOrigin {
  /** The model that was asked for, by the upstream's name. */
  readonly model: string
  /** The upstream's id of the request as its headers have it, else the gateway's. */
  readonly id: string
}

/** How answers are read that pass to a client of the same wire. */
export interface SameWire<O extends Operation = Operation> {
  /** Name of the client's dialect. */
  readonly wire: string
  decode(body: Buffer, request: Sent<Forms[O]['request']>): Passed
  openStream?(request: Sent<Forms[O]['request']>, kept: KeptText): WireReader
  /** The form in which the upstream may take a request that it has answered with this failure. */
  concession?(failure: Failure): Concession | undefined
  /** The path below that of a request which counts its tokens; absent: it has no such path. */
  readonly counts?: string
}

/** A client's wire that the upstream speaks beside its own. */
export interface NativeWire<O extends Operation = Operation> extends SameWire<O> {
  /** Its name in the configuration. */
  readonly api: NativeApi
  encode(
    request: Forms[O]['request'],
    settings: ProviderSettings,
    maxTokens: number | undefined,
  ): UpstreamRequest
  /** How an upstream is asked for what it keeps, by the API's own path for it; absent: it keeps nothing. */
  readonly kept?: (
    settings: ProviderSettings,
    path: string,
  ) => Pick<UpstreamRequest, 'path' | 'headers'>
}

export interface UpstreamRequest<Body = Buffer | string | Unwritten> {
  /** Path and query below the endpoint's base, beginning with `/`. */
  readonly path: string
  /** Lower-case names. Authentication included; `content-type` and `accept` too. */
  readonly headers: Headers
  readonly body: Body
  /** More bytes after it, which stand in the client's request and are not copied. */
  readonly rest?: readonly Buffer[]
  /** Members that the wire has no place for, though nothing is lost: hints, and members of other APIs. */
  readonly leftOut?: readonly string[] | undefined
  /** Parts of the conversation that the upstream does not see, as the client knows them; a header names them. */
  readonly lost?: readonly string[]
}

/** The same, whose body is there. */
export type WrittenRequest = UpstreamRequest<Buffer | string>

/** A request as it leaves, for a signature over it. */
export interface FinalRequest {
  readonly method: 'POST'
  /** Scheme and authority. */
  readonly origin: string
  /** Path and query as on the request line. */
  readonly path: string
  readonly headers: Headers
  readonly body: Buffer
  /** More bytes after it. */
  readonly rest?: readonly Buffer[] | undefined
  /** Milliseconds since 1970. */
  readonly wallMs: number
}

export type Decoded<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer; readonly usage: Usage | undefined }
  | { readonly kind: 'failure'; readonly failure: Failure }

/** A whole answer in the client's wire. */
export type Passed =
  | {
      readonly kind: 'body'
      readonly body: Buffer | string
      readonly usage: Usage | undefined
      readonly facts?: AnswerFacts
    }
  | {
      readonly kind: 'failure'
      readonly failure: Failure
      /** Some failures cost tokens. */
      readonly usage?: Usage | undefined
    }

/** How a stream of bytes is cut into frames, and what stands in one. */
export interface Framing {
  /** Media type of such a stream, for `accept`. */
  readonly mediaType: string
  /** Completes a frame that the upstream leaves open at its end; without it that frame is lost. */
  readonly closing?: Buffer
  open(): Framer
  /** The bytes of each frame in a run of whole frames. */
  split(frames: Buffer): Iterable<Buffer>
  /** undefined if the frame says nothing, such as a comment. */
  parse(frame: Buffer): WireEvent | undefined
}

export interface Framer {
  /** The whole frames that end in this chunk, with the tail kept from earlier ones; undefined if none ends. */
  push(chunk: Buffer): Buffer | undefined
  /** The bytes left when the upstream has ended. */
  rest(): Buffer
}

/** The content of one frame. */
export interface WireEvent {
  /** Its type, where the framing has one beside the data; else empty. */
  readonly event: string
  readonly data: string
}

/** Reads one stream into the inner form; keeps what it must remember between its events. */
export interface StreamReader<Event> {
  read(event: WireEvent): Meaning<Event>
}

/** The meaning of one event of an upstream's stream. */
export interface Meaning<Event> {
  readonly events: readonly Event[]
  /** The wire's own terminal event. */
  readonly done: boolean
  readonly usage?: Usage
  readonly failure?: Failure
}

/** Reads one stream whose client speaks a wire, and says what that client sees. */
export interface WireReader {
  /** Whether the client sees frames that say nothing. */
  readonly passesComments: boolean
  /** Filled in as events are read. */
  readonly facts: AnswerFacts
  read(event: WireEvent): WireMeaning
  /**
   * The client's bytes for a run of frames that need not be read one by one, and tells the hearer of their content;
   * undefined: read each. Only asked after the first content.
   */
  skim?(frames: Buffer, hearer: Hearer): Buffer | undefined
  /** The text after a complete answer where the upstream's own terminal event has not passed. */
  end(usage: Usage | undefined): string
}

/** Hears what is in frames that are not read one by one. */
export interface Hearer {
  contentEvents: number
  /** Text of the answer, as it stands in JSON. */
  hear(bytes: Uint8Array, start: number, end: number): void
  /** The usage so far, which stands beside the last content. */
  report(usage: Usage, isBeside: boolean): void
}

export interface WireMeaning {
  /** Text for the client, or `same`: the frame's own bytes pass untouched. */
  readonly out: 'same' | string
  /** Text, reasoning, a tool call or a refusal: the first of these commits the answer. */
  readonly content: boolean
  /** The words of that content, by which the tokens of an answer are counted that ends without its usage. */
  readonly said?: string
  /** A finish reason was in it, and every choice that was asked for has had its own. */
  readonly finished: boolean
  readonly done: boolean
  /** It could not be read, and passes all the same. */
  readonly broken?: boolean
  readonly usage?: Usage
  readonly failure?: Failure
  /** The failure that the stream ends with unless more comes. */
  readonly pending?: Failure
}

/** Another form in which the same upstream may take the request. */
export type Concession = 'translated' | 'unsealed' | 'unthinking'

/**
 * Why an attempt failed, in the classes that decide what happens next:
 * `client` the request is at fault (never tried elsewhere), `context` too long (tried where the window is larger),
 * `credential` ours was refused, `missing` the model or path is unknown there, `rate_limited`, `quota`,
 * `overloaded`, `server`, `timeout`, `connect`, `reset`, `tls`, `malformed` an answer that makes no sense.
 */
export type FailureClass =
  | 'client'
  | 'context'
  | 'credential'
  | 'missing'
  | 'rate_limited'
  | 'quota'
  | 'overloaded'
  | 'server'
  | 'timeout'
  | 'connect'
  | 'reset'
  | 'tls'
  | 'malformed'

export interface Failure {
  readonly class: FailureClass
  /** HTTP status of the upstream's answer; absent when there was none. */
  readonly status?: number
  /** The upstream's own words, for a client's mistake; masked and bounded before they are shown. */
  readonly message: string
  /** The words that clients read after the upstream's name, where `message` holds addresses or codes of the runtime. */
  readonly shown?: string
  /** No server listens there: no connection could be made, so nothing was sent. */
  readonly isUnreached?: boolean
  readonly type?: string | null
  readonly param?: string | null
  readonly code?: string | null
  readonly retryAfterMs?: number
  /** The request may succeed at the same upstream in this form. */
  readonly concession?: Concession
  /** The request asked for something that other requests do not: the failure says nothing against the upstream. */
  readonly ofRequest?: true
}
