/** A provider is pure translation between the inner form and one wire. */

import type { KeptText } from '../base/kept-text.ts'
import type { Unwritten } from '../json/unwritten.ts'
import type { AnswerFacts } from './answer-facts.ts'
import type { CredentialSource, Environment } from './credential-source.ts'
import type { Failure, Workaround } from './failure.ts'
import type { Forms, Operation, Sent, Usage } from './inner-form.ts'
import type { Capabilities } from './models/capabilities.ts'
import type { AddressSettings, NativeApi, ProviderFacts } from './provider-facts.ts'

export type { Failure, FailureClass, Workaround } from './failure.ts'

/** The settings of an upstream that a translation may depend on. */
export interface ProviderSettings extends AddressSettings {
  readonly model: string
  /** The known facts about the model. */
  readonly capabilities: Capabilities
  /** Purpose of the vectors. */
  readonly inputType?: string | undefined
  /** The configured credential, or the present fetched one; empty if the upstream needs none. */
  readonly credential: string
  /** Whether the credential was fetched from the source of `openCredentials`. */
  readonly isFetched?: boolean
  /** Most tokens of prompt and answer together, if the configuration or the provider's facts define it. */
  readonly contextWindow?: number | undefined
  /** Extras besides tokens that clients may request. */
  readonly allow?: readonly string[] | undefined
  /** Further wires that the upstream supports, for clients that speak them; undefined: none. */
  readonly native?: readonly string[] | undefined
}

export interface Provider extends ProviderFacts {
  /** The framing of the provider's streams. */
  readonly framing: Framing
  readonly operations: { readonly [O in Operation]?: ProviderOperation<O> }
  /** Classifies an answer that is not 2xx. `headers` have lower-case names. */
  classify(status: number, headers: Readonly<Record<string, unknown>>, body: Buffer): Failure
  /**
   * Opens the source of an expiring credential. Called if the configuration has no credential, or one in a form that
   * requests do not carry. undefined: requests carry `settings.credential` unchanged.
   */
  openCredentials?(settings: ProviderSettings, env: Environment): CredentialSource | undefined
  /** Headers that depend on the whole request, such as a signature; added to those of `encode`. */
  sign?(request: FinalRequest, settings: ProviderSettings): Headers
}

export type Headers = Readonly<Record<string, string>>

/** Translation between the inner form of one operation and the provider's wire. */
export interface ProviderOperation<O extends Operation = Operation> {
  /**
   * Throws `unsupported` (unsupported.ts) for parameters that the wire cannot express. `maxTokens` is sent if the
   * client sets no limit.
   */
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
  /** Absent if answers are never streamed. `kept` counts the bytes that the reader stores between events. */
  openStream?(
    request: Sent<Forms[O]['request']>,
    origin: AnswerOrigin,
    kept: KeptText,
  ): StreamReader<Forms[O]['event']>
  /** For clients with this same wire, answers pass without the inner form. */
  readonly sameWire?: SameWire<O>
  /** Where requests of some models are asked in another API, whose answers `decode` and `openStream` read too. */
  readonly detour?: Detour
  /** Other wires that upstreams of this provider may speak beside it; each upstream's settings say which. */
  readonly natives?: readonly NativeWire<O>[]
}

/** Tells the answers of another API from those of the wire. */
export interface Detour {
  isWhole(body: Buffer): boolean
  isEvent(event: WireEvent): boolean
}

/** Where an answer comes from, for wires whose answers leave it out. */
export interface AnswerOrigin {
  /** The requested model, by the upstream's name. */
  readonly model: string
  /** The upstream's id of the request from its headers, else the gateway's. */
  readonly id: string
  /** Whether the request was asked in the API of the operation's `detour`. */
  readonly isDetour?: boolean
}

/** Reads answers that pass to a client of the same wire. */
export interface SameWire<O extends Operation = Operation> {
  /** Name of the client's dialect. */
  readonly wire: string
  decode(body: Buffer, request: Sent<Forms[O]['request']>): Passed
  openStream?(request: Sent<Forms[O]['request']>, kept: KeptText): WireReader
  /** Another form that the upstream may accept after this failure. */
  workaround?(failure: Failure): Workaround | undefined
  /** The path, below that of a request, that counts its tokens; absent: there is no such path */
  readonly counts?: string
}

/** A further wire of clients that the upstream supports. */
export interface NativeWire<O extends Operation = Operation> extends SameWire<O> {
  /** Name of the wire in the configuration. */
  readonly api: NativeApi
  encode(
    request: Forms[O]['request'],
    settings: ProviderSettings,
    maxTokens: number | undefined,
  ): UpstreamRequest
  /** Requests objects that an upstream stores, by the API's path; absent: it stores nothing. */
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
  /** Further bytes of the body, which are slices of the client's request and not copied. */
  readonly rest?: readonly Buffer[]
  /** Members that the request omits without loss: hints, and members of other APIs. */
  readonly leftOut?: readonly string[] | undefined
  /** Parts of the conversation that the upstream does not see, as the client knows them; a header names them. */
  readonly lost?: readonly string[]
  /** Whether it is asked in the API of the operation's `detour`. */
  readonly isDetour?: boolean
}

/** The same, with its body as bytes. */
export type WrittenRequest = UpstreamRequest<Buffer | string>

/** A request before sending, for its signature. */
export interface FinalRequest {
  readonly method: 'POST'
  /** Scheme and authority. */
  readonly origin: string
  /** Path and query as on the request line. */
  readonly path: string
  readonly headers: Headers
  readonly body: Buffer
  /** Further bytes of the body. */
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

/** Splits a stream of bytes into frames, and reads the content of a frame. */
export interface Framing {
  /** Media type of such a stream, for `accept`. */
  readonly mediaType: string
  /** Bytes that complete a frame which the upstream leaves open at its end; otherwise that frame is lost. */
  readonly closing?: Buffer
  /** The frame that is read when a body ends without being cut, for APIs that have no other end of a stream. */
  readonly endOfBody?: Buffer
  open(): Framer
  /** The bytes of each frame in a run of whole frames. */
  split(frames: Buffer): Iterable<Buffer>
  /** undefined if the frame has no content, such as a comment. */
  parse(frame: Buffer): WireEvent | undefined
}

export interface Framer {
  /** The whole frames that end in this chunk, with the tail kept from earlier ones; undefined if none ends. */
  push(chunk: Buffer): Buffer | undefined
  /** The remaining bytes after the upstream has ended. */
  rest(): Buffer
}

/** The content of one frame. */
export interface WireEvent {
  /** Type of the frame, if the framing has types; else empty. */
  readonly event: string
  readonly data: string
}

/** Reads one stream into the inner form, with the state between its events. */
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

/** Reads one stream for a client with a certain wire, and decides what the client gets. */
export interface WireReader {
  /** Whether the client gets frames without content. */
  readonly passesComments: boolean
  /** Filled in as events are read. */
  readonly facts: AnswerFacts
  read(event: WireEvent): WireMeaning
  /**
   * Returns the client's bytes for a run of frames that need not be read one by one, and reports their content to
   * `hearer`; undefined: read each frame. Only called after the first content.
   */
  skim?(frames: Buffer, hearer: Hearer): Buffer | undefined
  /** The text after a complete answer, if the upstream's terminal event was not passed on. */
  end(usage: Usage | undefined): string
}

/** Receives the content of frames that are not read one by one. */
export interface Hearer {
  contentEvents: number
  /** Text of the answer, in its JSON encoding. */
  hear(bytes: Uint8Array, start: number, end: number): void
  /** The usage so far, which came with the last content. */
  report(usage: Usage, isBeside: boolean): void
}

export interface WireMeaning {
  /** Text for the client, or `same`: the frame's own bytes pass untouched. */
  readonly out: 'same' | string
  /** Text, reasoning, a tool call or a refusal: the first of these commits the answer. */
  readonly content: boolean
  /** The text of the content, to count the tokens of an answer without usage. */
  readonly said?: string
  /** Whether the event had a finish reason and every requested choice has ended. */
  readonly finished: boolean
  readonly done: boolean
  /** Whether the event could not be read; it passes anyway. */
  readonly broken?: boolean
  readonly usage?: Usage
  readonly failure?: Failure
  /** The failure that the stream ends with unless more comes. */
  readonly pending?: Failure
}
