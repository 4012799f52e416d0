/** An API: a method and a path of the client listener, and its work on a visit. */
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
}

/** One request and its answer, on the configuration it began with. Each stage takes only the parts that it needs. */
export interface Visit extends Noted {
  /** Writes the trace, and the facts for the headers of the answer. */
  readonly notes: Notes
}
