/** A request on its way through the gateway: the types that every stage shares. */
import type { GatewayError } from '../base/errors.ts'
import type { KeyEntry } from './key-entry.ts'

/** One HTTP request and its answer. */
export interface Call {
  readonly id: string
  readonly incoming: Incoming
  readonly outgoing: Outgoing
  /** Time on the monotonic clock, in milliseconds, when its headers had arrived. */
  readonly receivedAt: number
}

/** The request as it arrives, from either reader of the connection. */
export interface Incoming {
  readonly method: string
  readonly url: string
  /** The model in the path, as Azure's have it; it wins over the body's. */
  readonly pathModel?: string | undefined
  /** The value of any header, by its lower-case name; repeated ones are joined. */
  header(name: string): string | undefined
  /** The address of the peer: the client, or the last proxy before the gateway. Undefined once it is closed. */
  readonly peerAddress: string | undefined
  /** `1.1` or `1.0`. */
  readonly httpVersion: string
  /** The client's verified certificate, if the listener requests one. */
  readonly certificate: ClientCertificate | undefined
  /** The last key of the connection; absent: the connection remembers none. */
  readonly lastKey?: LastKey
  /** As received, names and values alternating. */
  readonly rawHeaders: readonly string[]
  /** Whether the whole body has arrived. */
  readonly complete: boolean
  /** The rest of the request is not read, so its answer is the last of the connection. */
  answerLast(): void
  /** The body, if it came with the head and will be read. */
  takeWhole(): Buffer | undefined
  /** Makes the received part the whole body, if there is no body yet. Throws GatewayError. */
  bodyOf?(arrived: Buffer): Promise<Buffer>
  /** Called at most once, to read the body as it arrives. */
  takeBody(taker: BodyTaker): void
  /** Asks a waiting client to send the body (100 Continue). */
  askForBody(): void
}

/**
 * Most connections present one key, which is then hashed once: test/bench/micro/last-key.ts, 0.09 instead of 0.55 us.
 * It is kept as long as its connection.
 */
export interface LastKey {
  key: string
  /** SHA-256 of the key, in hex. */
  digest: string
}

/** A certificate signed by an authority of the configuration. */
export interface ClientCertificate {
  /** URIs and hosts in the certificate. */
  readonly names: readonly string[]
  /** When it ends, in milliseconds since the epoch. */
  readonly until: number
}

/** `ended` or `broken` is called once, and last. */
export interface BodyTaker {
  /** The taker must copy the bytes that it keeps, because the memory of a chunk is freed. */
  data(chunk: Buffer): void
  ended(): void
  broken(why: GatewayError): void
  /** Whether no more bytes are needed; the rest is dropped. */
  readonly sated: boolean
}

/** Where the answer goes: sent whole, or begun and then written in pieces. Header names and values alternate. */
export interface Outgoing {
  /** Called before anything is sent. */
  tell(listener: AnswerListener): void
  sendWhole(status: number, headers: string[], body: string | Buffer): void
  /** The head of a stream, which is sent with the first piece. */
  begin(headers: string[]): void
  /** false: the piece waits until the listener gets `drained`. */
  write(piece: string | Buffer): boolean
  end(): void
  /** Opens a WebSocket in place of another answer. Absent: the connection cannot become one. */
  upgrade?(headers: string[]): void
  /** Closes a begun stream so that no client takes it for complete. */
  cut(): void
  destroy(): void
  readonly needsDrain: boolean
  /** Bytes that the system has not accepted. */
  readonly unwritten: number
  /** A number that falls whenever the client reads bytes, including those of a running write. */
  readonly untaken: number
  /** Whether it waits for an earlier answer of the connection; `turned` reports its end. */
  readonly isQueued: boolean
}

export interface AnswerListener {
  /** Everything has been written, or nothing more can be written. */
  closed(): void
  drained(): void
  turned(): void
}

/** The caller: the record of the presented key. */
export interface Caller {
  readonly key: KeyEntry
  readonly tenant: string
}
