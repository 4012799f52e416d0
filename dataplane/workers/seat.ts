/** The place of a worker in its gateway, which the first process passes on in the environment. */

/** No setting of users. */
export const SEAT = 'GW_WORKER'

export interface Seat {
  /** From 2 on; the first process has no seat. */
  readonly number: number
  /** All processes of the gateway, the first one included. */
  readonly of: number
  /** The port that the first process listens on. */
  readonly port: number
  /** The socket of the store in the first process; absent: the processes share Redis. */
  readonly storeSocket?: string
  /** Digests of the first process's settings that wait for a restart, by their names. */
  readonly bound: Readonly<Record<string, string>>
}
