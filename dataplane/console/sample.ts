/** The console's sample of a process each second: its status and its counters. */
import { hostname } from 'node:os'
import type { Administered } from '../admin/routes.ts'
import { bodyOf } from '../admin/whole/answers.ts'

export async function sampleOf(administered: Administered) {
  const { gateway } = administered
  const [status, activity] = await Promise.all([
    bodyOf('GET /status', administered),
    bodyOf('GET /activity', administered),
  ])
  const name = gateway.env.HOSTNAME || hostname()
  // The data of the pod is below the root of the same listener.
  const pod = { name, path: '', status, activity }
  return { at: new Date(gateway.clock.wall()).toISOString(), pods: [pod] }
}
