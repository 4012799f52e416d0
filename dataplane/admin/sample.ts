/** What the console gets of a process each second: its status and its counters. */
import { hostname } from 'node:os'
import { activityOf } from './activity.ts'
import type { Administered } from './routes.ts'
import { statusOf } from './status.ts'

export function sampleOf({ gateway, activation, listening }: Administered) {
  const status = { ...statusOf(gateway, activation), listeners: listening() }
  const name = gateway.env.HOSTNAME || hostname()
  // Its data stands below the root of the same listener.
  const pod = { name, path: '', status, activity: activityOf(gateway) }
  return { at: new Date(gateway.clock.wall()).toISOString(), pods: [pod] }
}
