/** An API: a method and a path of the client listener, and its work on a visit. */
import type { Call, Incoming } from '../call/call.ts'
import type { Active, Gateway } from '../gateway/gateway.ts'
import type { Trace } from '../telemetry/traces.ts'
import type { ClientWire } from '../wire/dialect.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import type { ClientResponse } from './response.ts'

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
export interface Visit {
  readonly call: Call
  readonly response: ClientResponse
  readonly trace: Trace
  readonly gateway: Gateway
  readonly active: Active
  /** Keeps what its spans will say of the request, where traces are sent. */
  asks(request: ModelRequest): void
}
