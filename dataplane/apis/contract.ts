/** What an API is: a method and a path of the client listener, and what it does with a visit. */
import type { Visit } from '../gateway.ts'
import type { ClientWire } from './dialect.ts'

export interface Api {
  /** Where GET is answered, HEAD is too. */
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  /** Probes: not recorded. */
  readonly quiet?: boolean
  readonly wire: ClientWire
  run(visit: Visit): Promise<void> | void
}
