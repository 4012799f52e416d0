/** An API: a method and a path of the client listener, and its work on a visit. */
import type { Bodies } from '../body/bodies.ts'
import type { Incoming } from '../call/call.ts'
import type { ClientWire } from '../wire/dialect.ts'
import type { Noted, Notes } from './notes.ts'

export interface Api {
  /** GET includes HEAD. */
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly summary: string
  /** Requests of probes, which are not recorded. */
  readonly quiet?: boolean
  readonly wire: ClientWire
  /** The wire of the client, if clients of several wires share the path. */
  wireOf?(incoming: Pick<Incoming, 'header' | 'url'>): ClientWire
  run(visit: Visit): Promise<void> | void
  /** Present if clients may use the API on a WebSocket. */
  readonly socket?: SocketApi
}

export type ApiWithSocket = Api & { readonly socket: SocketApi }

/** The API on WebSockets: each message is a request, and its answer a stream of events. */
export interface SocketApi {
  /** The last events of an answer. */
  readonly lastEvents: ReadonlySet<string>
  /** Begins with a connection. `keeping` counts what connections keep between requests. */
  begin(keeping: Bodies): Dialogue
  /** A refusal as an event. `facts`: the headers of the answer; `members`: like those of `DialogueTurn`. */
  refusalEvent(status: number, facts: Facts, body: string, members: string): string
  /** The event before the end of a connection that has reached its maximum age. */
  lastEvent(requestId: string): string
}

export type Facts = Readonly<Record<string, string>>

/** One connection. */
export interface Dialogue {
  turn(): DialogueTurn
  /** The connection is gone. */
  close(): void
}

/** One message and its answer. */
export interface DialogueTurn {
  /** Members of every event, as JSON text with a comma at its end. Known after `bodyOf`. */
  readonly members: string
  /** The body of the request in the message. Throws ERR_GW_INVALID_REQUEST. */
  bodyOf(message: Buffer): Promise<Buffer>
  run(visit: Visit): Promise<void>
  /** The members of the first event that contain the headers of the answer. */
  firstMembers(facts: Facts): string
  /** The last event has been sent, with these data; undefined if they are too long. */
  ended(data: Buffer | undefined): void
}

/** One request and its answer, on the configuration it began with. Each stage takes only the parts that it needs. */
export interface Visit extends Noted {
  /** Writes the trace, and the facts for the headers of the answer. */
  readonly notes: Notes
}
