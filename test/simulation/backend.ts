/** The contract between the simulation and a store under test. */

import type { Store } from '../../dataplane/accounts/store.ts'
import type { Clock } from '../../dataplane/base/clock.ts'
import type { Wire } from './network.ts'
import type { VirtualTime } from './time.ts'

/** The store's real decisions, regardless of the replies that its callers receive. */
export interface Witness {
  /** `isHere`: the gateway admitted it from its slices. */
  admitted(id: string, isHere?: boolean): void
  /** The tokens of a request that the store still had. */
  renewed(id: string, used: number): void
  settled(id: string): void
  /** The same for an account that is not the tenant's. */
  settledBeside(id: string, isLimit: boolean): void
  /** A gateway has stopped waiting for the answer to an admission. */
  unanswered(id: string): void
  /** The slots of a slice, in use and idle, after a claim in the account of a tenant or of a limit. */
  claimed(claim: Claimed): void
}

export interface Claimed {
  readonly slice: string
  /** Undefined for the limit's. */
  readonly tenant: string | undefined
  readonly slots: number
}

export interface View {
  readonly name: string
  /** The gateway's own clock, right or wrong. */
  readonly clock: Clock
  readonly wire: Wire
}

/** One history's store. */
export interface Backend {
  /** The store as one gateway sees it. */
  open(view: View): Store
  /** Loses all data; false if that cannot happen. */
  flush(): Promise<boolean>
  /** Keeps a copy of all data. */
  copy(): Promise<void>
  /** Restores the kept copy; false if that cannot happen. */
  failOver(): Promise<boolean>
  close(): Promise<void>
}

export interface BackendWorld {
  readonly gateways: number
  readonly failOpen: boolean
  readonly time: VirtualTime
  /** The store's clock, which decides. */
  readonly wall: () => number
  readonly witness: Witness
  /** Records an error that no store may make, and returns it. */
  readonly broken: (error: unknown) => unknown
}

export type OpenBackend = (world: BackendWorld) => Backend
