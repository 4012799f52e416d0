/** Composes the operator: every replica watches, and the holder of the lease writes. */

import type { Webhook, WebhookParts } from './admission/webhook.ts'
import { type ControllerOptions, makeControllers } from './controllers.ts'
import { ApiClient, type ApiOptions } from './kube/api.ts'
import type { Cluster } from './kube/credentials.ts'
import { LeaderLease, type LeaseTimings } from './kube/lease.ts'
import { LEASE_NAME } from './kube/names.ts'
import { Transport } from './kube/transport.ts'
import type { ReflectorOptions } from './kube/watch/reflector.ts'
import { messageOf } from './log.ts'
import { ServedTypes } from './served-types.ts'
import { tallyOf } from './tally.ts'
import { beginWatches } from './telemetry.ts'
import { WATCHED_NAMES, World } from './world.ts'

export interface OperatorOptions extends ControllerOptions {
  readonly cluster: Cluster
  /** The operator runs the gateways of these namespaces; empty: of all. */
  readonly watchNamespaces: readonly string[]
  /** The admission webhook, if enabled: it uses the watched objects, and writes as the leader. */
  readonly startWebhook?: (parts: WebhookParts) => Webhook
  readonly onAsked?: ApiOptions['onAsked']
  readonly timings?: ControllerOptions['timings'] & {
    readonly reflector?: ReflectorOptions['timings']
    readonly lease?: LeaseTimings
    readonly typesMs?: number
  }
}

export interface Operator {
  /** Every watch has delivered a complete list once. */
  readonly isSynced: () => boolean
  readonly isLeading: () => boolean
  /** Why this operator takes no lease, if it may not lead. */
  readonly fault: () => string | undefined
  readonly silentMs: () => number
  readonly webhook: Webhook | undefined
  /** Resolves when this process lost the lead. Its caller then ends the process, and another replica takes over. */
  readonly lost: Promise<void>
  stop(): Promise<void>
}

/** The lease decides who may write; a call that hangs must not outlast it. */
const LEASE_CALL_MS = 4000
const POD_CONNECT_MS = 2000
const POD_ANSWER_BYTES_MAX = 1 << 20

export function startOperator(options: OperatorOptions): Operator {
  const { log, telemetry } = options
  const fence: { lease?: LeaderLease } = {}
  const api = new ApiClient({
    ...askingOf(options),
    mayWrite: () => fence.lease?.mayWrite ?? false,
  })
  const leaseApi = new ApiClient({
    ...askingOf(options),
    deadlineMs: LEASE_CALL_MS,
    attemptsMax: 1,
  })
  const transport = new Transport({
    connections: 2,
    connectTimeoutMs: POD_CONNECT_MS,
    bodyBytesMax: POD_ANSWER_BYTES_MAX,
  })
  const world = watchWorld(options, api)
  const controllers = makeControllers(options, { api, world, transport })
  telemetry.tallyBy(() => tallyOf(world.stores.gatewayConfigs.list()))
  const lost = Promise.withResolvers<void>()
  const lease = makeLease(options, leaseApi, {
    onGained() {
      telemetry.leader.set({ name: LEASE_NAME }, 1)
      log.event('info', 'leader', 'This process leads.')
      void controllers.lead()
    },
    onLost() {
      telemetry.leader.set({ name: LEASE_NAME }, 0)
      log.event('error', 'leader', 'The lead was lost; this process stops writing.')
      lost.resolve()
    },
  })
  fence.lease = lease
  const { release, timings } = options
  const lookMs = timings?.typesMs
  const types = new ServedTypes({ api: leaseApi, version: release.version, log, lookMs })
  world.start()
  void types.fit().then((mayLead) => {
    if (mayLead) lease.start()
  })
  const webhook = options.startWebhook?.({ api, world, isLeading: () => lease.mayWrite })
  return {
    isSynced: () => world.isSynced,
    isLeading: () => lease.mayWrite,
    fault: () => types.fault,
    silentMs: () => world.silentMs,
    lost: lost.promise,
    webhook,
    async stop() {
      // The webhook answers a while longer; the next leader need not wait for it.
      const webhookStopped = webhook?.stop()
      types.stop()
      await controllers.stop()
      await lease.release().catch(() => undefined)
      await world.stop()
      await webhookStopped
      await Promise.all([api.close(), leaseApi.close(), transport.close()])
    },
  }
}

function askingOf({ cluster, telemetry, onAsked }: OperatorOptions): ApiOptions {
  return {
    cluster,
    onAnswer: (status, verb) => telemetry.requests.inc({ code: String(status), method: verb }),
    ...(onAsked && { onAsked }),
  }
}

function makeLease(
  { namespace, identity, log, timings }: OperatorOptions,
  api: ApiClient,
  changes: { onGained(): void; onLost(): void },
): LeaderLease {
  return new LeaderLease({
    api,
    namespace,
    name: LEASE_NAME,
    identity,
    random: Math.random,
    wallClock: Date.now,
    onError: (error) => log.event('warn', 'leader', messageOf(error)),
    ...changes,
    ...(timings?.lease && { timings: timings.lease }),
  })
}

function watchWorld(
  { watchNamespaces, telemetry, log, timings }: OperatorOptions,
  api: ApiClient,
): World {
  const listed = new Set<string>()
  beginWatches(telemetry, WATCHED_NAMES)
  return new World({
    api,
    namespaces: watchNamespaces,
    random: Math.random,
    onList(resource, changes) {
      telemetry.lists.inc({ resource })
      if (listed.has(resource) && changes > 0) {
        telemetry.missed.inc({ resource }, changes)
        const late = changes === 1 ? 'a change' : `${changes} changes`
        const message = `A list of ${resource} showed ${late} that the watch had not sent.`
        log.event('warn', 'watch_missed', message, { changes })
      }
      listed.add(resource)
    },
    onEnd(resource, reason, error) {
      telemetry.watchEnds.inc({ resource, reason })
      if (reason === 'end') return
      const message = `The watch of ${resource} ended: ${messageOf(error)}`
      log.event('warn', 'watch', message, { reason })
    },
    ...(timings?.reflector && { timings: timings.reflector }),
  })
}
