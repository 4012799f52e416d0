/** The queues of objects to reconcile, with counts and times. */
import type { ApiClient } from './kube/api.ts'
import { isOfEndingNamespace, NotLeaderError } from './kube/api-error.ts'
import { type ReconcileResult, WorkQueue } from './kube/queue.ts'
import { type Log, messageOf } from './log.ts'
import { type PoliciesOptions, PoliciesReconciler } from './reconcilers/policies.ts'
import { PoolsReconciler } from './reconcilers/pools.ts'
import type { Telemetry } from './telemetry.ts'
import type { World } from './world.ts'

export interface QueueParts {
  readonly telemetry: Telemetry
  readonly log: Log
}

const CONCURRENCY = 4
/** How long an object waits whose namespace is being deleted. Its own deletion comes as an event. */
const ENDING_MS = 30_000

export function policiesQueue(
  options: QueueParts,
  parts: Omit<PoliciesOptions, 'wallClock'>,
): WorkQueue {
  const reconciler = new PoliciesReconciler({ ...parts, wallClock: Date.now })
  return makeQueue('policy', options, (policy) => reconciler.reconcile(policy))
}

export function poolsQueue(
  options: QueueParts,
  { api, world }: { readonly api: ApiClient; readonly world: World },
): WorkQueue {
  const reconciler = new PoolsReconciler({
    ...{ api, world, random: Math.random, wallClock: Date.now },
    onError: (message) => options.log.event('warn', 'pool', message),
  })
  return makeQueue('pool', options, (pool) => reconciler.reconcile(pool))
}

export function makeQueue(
  controller: string,
  { telemetry, log }: QueueParts,
  reconcile: (key: string) => Promise<ReconcileResult>,
): WorkQueue {
  const queue: WorkQueue = new WorkQueue({
    concurrency: CONCURRENCY,
    random: Math.random,
    async process(key) {
      const end = telemetry.reconcileSeconds.startTimer({ controller })
      telemetry.queueDepth.set({ name: controller }, queue.depth)
      try {
        const outcome = await reconcile(key)
        telemetry.reconciles.inc({ controller, result: 'success' })
        return outcome
      } catch (error) {
        if (isOfEndingNamespace(error)) {
          telemetry.reconciles.inc({ controller, result: 'success' })
          return { againMs: ENDING_MS }
        }
        telemetry.reconciles.inc({ controller, result: 'error' })
        throw error
      } finally {
        end()
        telemetry.activeWorkers.set({ controller }, queue.active)
      }
    },
    onError(key, error, retryMs) {
      if (error instanceof NotLeaderError) return
      const retry = { retry_ms: Math.round(retryMs) }
      log.event('error', 'reconcile', `${controller} ${key}: ${messageOf(error)}`, retry)
    },
  })
  return queue
}
