/** Whether every pod of a gateway has received a change of its keys, by the status of the gateway. */

import { setTimeout as delay } from 'node:timers/promises'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { ApiClient } from '../../operator/kube/api.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'

type Api = Pick<ApiClient, 'get'>

const LOOK_MS = 200
/** Most time to wait for a pod that does not respond. */
const WAIT_MS = 15_000

/** Reads the hash that pods should enforce; undefined if no gateway uses the key, or the gateway cannot be read. */
export async function keysSequenceOf(api: Api, key: KubeObject): Promise<number | undefined> {
  const sequence = valueBelow(await statusFor(api, key), 'keys', 'sequence')
  return typeof sequence === 'number' ? sequence : undefined
}

/** Returns false after a timeout; the operator continues to inform the pods. */
export async function untilPodsKnow(
  api: Api,
  key: KubeObject,
  { before, waitMs = WAIT_MS }: { readonly before: number; readonly waitMs?: number },
): Promise<boolean> {
  const end = performance.now() + waitMs
  while (performance.now() < end) {
    const status = await statusFor(api, key)
    if (status === undefined || isKnown(status, before)) return true
    await delay(LOOK_MS)
  }
  return false
}

function isKnown(status: unknown, before: number): boolean {
  const sequence = Number(valueBelow(status, 'keys', 'sequence') ?? 0)
  const pods = valueBelow(status, 'pods')
  if (sequence <= before || !Array.isArray(pods)) return false
  return pods
    .filter((pod) => valueBelow(pod, 'ready') === true)
    .every((pod) => Number(valueBelow(pod, 'keysSequence') ?? 0) >= sequence)
}

async function statusFor(api: Api, key: KubeObject): Promise<unknown> {
  const conditions = valueBelow(key, 'status', 'conditions')
  const isAccepted =
    Array.isArray(conditions) && conditions.some((one) => valueBelow(one, 'status') === 'True')
  if (!isAccepted) return undefined
  const gateway = String(valueBelow(key, 'spec', 'gateway') ?? '')
  const [namespace, name] = gateway.includes('/')
    ? gateway.split('/')
    : [key.metadata.namespace, gateway]
  try {
    const found = await api.get(RESOURCES.gatewayConfigs, { namespace, name: name ?? '' })
    return found?.status
  } catch (error) {
    // The author may lack the permission to read a gateway in another namespace.
    if (error instanceof ApiError && error.status === 403) return undefined
    throw error
  }
}
