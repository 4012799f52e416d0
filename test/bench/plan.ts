/** Duration and repetitions: the whole plan for the record, the quick one for a check. */
import { WARM_UP_REQUESTS } from './warm-up.ts'

export interface Plan {
  readonly rounds: number
  readonly connections: number
  readonly warmUpSeconds: number
  /** The first requests of each gateway, measured. */
  readonly warmUpRequests: number
  readonly closedSeconds: number
  readonly openSeconds: number
  readonly openRate: number
  readonly streamSeconds: number
  readonly eventsPerStream: number
  /** Well above the time of a wake, so that proxies do not get several events in one read. */
  readonly eventIntervalMs: number
  readonly idleStreams: number
  readonly holdSeconds: number
}

export const WHOLE_PLAN: Plan = {
  rounds: 3,
  connections: 64,
  warmUpSeconds: 4,
  warmUpRequests: WARM_UP_REQUESTS,
  closedSeconds: 6,
  openSeconds: 10,
  openRate: 1_000,
  streamSeconds: 6,
  eventsPerStream: 100,
  eventIntervalMs: 5,
  // Each takes two of the 20,000 files that a process may open here.
  idleStreams: 9_900,
  holdSeconds: 10,
}

export const QUICK_PLAN: Plan = {
  ...WHOLE_PLAN,
  rounds: 1,
  warmUpSeconds: 2,
  warmUpRequests: 20_000,
  closedSeconds: 2,
  openSeconds: 3,
  streamSeconds: 2,
  idleStreams: 1_000,
  holdSeconds: 3,
}
