/** An API: a method and a path of the client listener, and its work on a visit. */
import type { Incoming } from '../call/call.ts'
import type { ClientWire } from '../wire/dialect.ts'
import type { Noted, Notes } from './notes.ts'

export interface Api {
  /** Where GET is answered, HEAD is too. */
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly summary: string
  /** Probes: not recorded. */
  readonly quiet?: boolean
  readonly wire: ClientWire
  /** The wire of the client that asks, where clients of several share the path. */
  wireOf?(incoming: Pick<Incoming, 'header' | 'url'>): ClientWire
  run(visit: Visit): Promise<void> | void
}

/** One request and its answer, on the configuration it began with. Stages take what they need of it. */
export interface Visit extends Noted {
  /** Writes the trace, and the facts that the answer's headers name. */
  readonly notes: Notes
}
