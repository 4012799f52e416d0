/**
 * Checks a large configuration in a thread that can be ended, so that the operator's loop and other keys do not wait.
 */

import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { refuse } from '../../dataplane/config/judgement/problems.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'
import { messageOf } from '../log.ts'
import { type Judged, judgeGateway } from './compile.ts'
import type { PolicyVerdict } from './policy-verdict.ts'
import { countPolicies } from './tenant-policies.ts'
import { withPolicies } from './with-policies.ts'

/** Characters of `gw`. A smaller document takes some ten milliseconds; a thread takes two hundred to start. */
const LARGE = 64 * 1024
/** Deadline of the thread, from its start. The contents of a full ConfigMap take a second on a slow machine. */
const DEADLINE_MS = 10_000
/** Memory limit of the thread; the largest configuration needs a third of it. */
const HEAP_MIB = 256
/** Condition `Accepted` has a reason for it. */
export const TIMED_OUT = 'COMPILATION_TIMED_OUT'

export interface Order {
  readonly gateway: KubeObject
  readonly now: number
  /** Tenants with keys; other tenants get a warning. */
  readonly tenants: readonly string[]
  readonly policies: readonly KubeObject[]
}

/** The result of checking a gateway with its policies. */
export interface JudgedWhole extends Judged {
  /** By `namespace/name` of the TenantPolicy. */
  readonly policies: ReadonlyMap<string, PolicyVerdict>
}

export function judgeWhole({ gateway, now, tenants, policies }: Order): JudgedWhole {
  const known = new Set(tenants)
  const judged = judgeGateway(gateway, now, (tenant) => known.has(tenant))
  const found = withPolicies(judged, gateway, policies)
  return { ...found.compiled, policies: found.policies }
}

export function isLarge({ gw }: KubeObject): boolean {
  return JSON.stringify(gw ?? null).length > LARGE
}

/** Never rejects: a failure becomes a problem of the document. */
export async function judgeApart(order: Order, deadlineMs = DEADLINE_MS): Promise<JudgedWhole> {
  const { gateway, policies, ...rest } = order
  const copies = { gateway: copyOf(gateway), policies: policies.map(copyOf) }
  const worker = new Worker(import.meta.filename, {
    workerData: { isJudge: true, ...copies, ...rest },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  })
  const deadline = AbortSignal.timeout(deadlineMs)
  try {
    // The thread answers with one message, or fails.
    const [judged] = await once(worker, 'message', { signal: deadline })
    return judged as JudgedWhole
  } catch (error) {
    const why = deadline.aborted ? lateness(deadlineMs) : `cannot be checked: ${messageOf(error)}`
    return { ...failed(why), policies: countPolicies(gateway, policies).verdicts }
  } finally {
    await worker.terminate()
  }
}

function copyOf({ metadata, spec, gw, status }: KubeObject): KubeObject {
  const { name, namespace, creationTimestamp } = metadata
  const times = creationTimestamp === undefined ? {} : { creationTimestamp }
  return { metadata: { name, ...(namespace && { namespace }), ...times }, spec, gw, status }
}

function lateness(deadlineMs: number): string {
  return `takes longer than ${deadlineMs / 1000} s to check, so the operator gave up`
}

function failed(message: string): Judged {
  const fix = 'Shorten it, or split it into several gateways; its keys work meanwhile.'
  const problem = { ...refuse(['gw'], message, fix), code: TIMED_OUT }
  return { configuration: undefined, spec: undefined, problems: [problem] }
}

if (!isMainThread && isRecord(workerData) && workerData.isJudge === true) {
  // Only the function above starts it.
  parentPort?.postMessage(judgeWhole(workerData as unknown as Order))
}
