/** The console's sample of a process each second: its status and its counters. */
import { hostname } from 'node:os'
import { activityOf } from '../admin/activity.ts'
import type { Administered } from '../admin/routes.ts'
import { statusOf } from '../admin/status.ts'

export async function sampleOf({ gateway, activation, listening }: Administered) {
  const status = { ...(await statusOf(gateway, activation)), listeners: listening() }
  const name = gateway.env.HOSTNAME || hostname()
  // The data of the pod is below the root of the same listener.
  const pod = { name, path: '', status, activity: activityOf(gateway) }
  return { at: new Date(gateway.clock.wall()).toISOString(), pods: [pod] }
}
