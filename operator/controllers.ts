/** The queues of gateways and keys, with their workers and the watches that fill them. */
import { randomBytes } from 'node:crypto'
import { Compilations } from './compile/compilations.ts'
import { IssuerKeys } from './compile/issuer-keys.ts'
import { asksForIssuerKeys } from './compile/issuers.ts'
import { PodOwners } from './delivery/pod-owners.ts'
import { Pusher, type PusherOptions } from './delivery/pusher.ts'
import { SigningKeeper } from './delivery/signing-keeper.ts'
import { CLUSTER_NETWORK, type PodNetwork } from './delivery/targets.ts'
import { Discovery } from './discovery.ts'
import { EndpointsKeeper, zonesOf } from './endpoints/endpoints-keeper.ts'
import { feed } from './feed.ts'
import type { ApiClient } from './kube/api.ts'
import { Events } from './kube/events.ts'
import { keyOf } from './kube/objects.ts'
import type { Transport } from './kube/transport.ts'
import { type Log, messageOf } from './log.ts'
import { makeQueue, policiesQueue, poolsQueue } from './queues.ts'
import { SIGNING_SECRET_NAME } from './rbac.ts'
import { ConfigReconciler } from './reconcilers/config.ts'
import { GatewayReconciler, type GatewayTimings } from './reconcilers/gateway.ts'
import { KeysReconciler } from './reconcilers/keys.ts'
import { MountKeeper } from './reconcilers/mounts.ts'
import { StatusReconciler } from './reconcilers/status.ts'
import { WorkloadReconciler } from './reconcilers/workload.ts'
import type { Telemetry } from './telemetry.ts'
import type { Tracer } from './tracing/tracer.ts'
import { showEdit } from './workload/editors.ts'
import type { Release } from './workload/settings.ts'
import type { World } from './world.ts'

export interface ControllerOptions {
  /** The namespace of the Lease and the signing key. */
  readonly namespace: string
  readonly identity: string
  readonly release: Release
  readonly rolloutsMax: number
  /** Whether this operator has the rights for routes of the Gateway API. */
  readonly mayRoute?: boolean
  /** Whether the operator has the rights to write keys into Secrets. */
  readonly mayMakeKeys?: boolean
  /** Whether the operator has the rights for InferencePools. */
  readonly mayPool?: boolean
  /** Absent: the cluster's. */
  readonly network?: PodNetwork
  readonly log: Log
  readonly telemetry: Telemetry
  /** Absent: no collector gets traces. */
  readonly tracer?: Tracer
  readonly timings?: {
    readonly pusher?: PusherOptions['timings']
    readonly gateway?: Partial<GatewayTimings>
    /** How often the operator asks what the cluster serves. */
    readonly discoveryMs?: number
  }
}

export interface ControllerParts {
  readonly api: ApiClient
  readonly world: World
  /** Sends documents to the pods. */
  readonly transport: Transport
}

export interface Controllers {
  /** Starts to write after all watches are complete. */
  lead(): Promise<void>
  /** Resolves after all running work has ended. */
  stop(): Promise<void>
}

export function makeControllers(options: ControllerOptions, parts: ControllerParts): Controllers {
  const { api, world } = parts
  const issuerKeys = new IssuerKeys({
    read: () => api.issuerKeys(),
    onChange() {
      for (const gateway of world.stores.gatewayConfigs.list())
        if (asksForIssuerKeys(gateway.gw)) gateways.add(keyOf(gateway))
    },
    onError: (error) => options.log.event('warn', 'issuer_keys', messageOf(error)),
  })
  const compilations = new Compilations({
    world,
    issuerKeys,
    wallClock: Date.now,
    onJudged: (gateway) => gateways.add(gateway),
  })
  const events = makeEvents(options, api)
  const keyReconciler = new KeysReconciler({
    api,
    world,
    compilations,
    events,
    mayMakeKeys: options.mayMakeKeys === true,
    wallClock: Date.now,
  })
  const addAll = () => {
    for (const gateway of world.stores.gatewayConfigs.list()) gateways.add(keyOf(gateway))
  }
  const discovery = makeDiscovery(options, parts, addAll)
  const signing = new SigningKeeper({
    api,
    place: { namespace: options.namespace, name: SIGNING_SECRET_NAME },
    onChange: addAll,
    onError: (error) => options.log.event('error', 'signing_key', messageOf(error)),
  })
  const add = (gateway: string) => gateways.add(gateway)
  const pusher = makePusher(options, parts.transport, add)
  const endpoints = makeEndpoints(options, parts, { signing, discovery, onTrouble: add })
  const gatewayReconciler = new GatewayReconciler({
    ...writersOf(options, { ...parts, signing, events }),
    world,
    compilations,
    pusher,
    endpoints,
    owners: new PodOwners(api),
    random: Math.random,
    release: options.release,
    network: options.network ?? CLUSTER_NETWORK,
    signingKeys: () => signing.keys,
    platform: () => discovery.platform,
    onCompiled(gateway) {
      const isGone = world.stores.gatewayConfigs.get(gateway) === undefined
      for (const key of world.keysOf.get(gateway)) {
        if (isGone || keyReconciler.isOutdated(key)) keys.add(keyOf(key))
      }
      for (const policy of world.policiesOf.get(gateway)) policies.add(keyOf(policy))
    },
    ...(options.timings?.gateway && { timings: options.timings.gateway }),
  })
  const gateways = makeQueue('gateway', options, tracedBy(options.tracer, gatewayReconciler))
  const keys = makeQueue('key', options, (key) => keyReconciler.reconcile(key))
  const policies = policiesQueue(options, { api, world, compilations, events })
  const pools = poolsQueue(options, parts)
  const queues = { gateways, keys, policies, pools }
  feed(world, queues)
  let isStopped = false
  return {
    async lead() {
      await Promise.all([signing.obtain(), discovery.obtain()])
      await world.synced()
      if (isStopped) return
      for (const queue of Object.values(queues)) queue.start()
    },
    async stop() {
      isStopped = true
      signing.stop()
      issuerKeys.stop()
      discovery.stop()
      await Promise.all(Object.values(queues).map((queue) => queue.stop()))
      pusher.close()
      endpoints.stop()
    },
  }
}

/** Reconciles as spans, where a collector gets them. */
function tracedBy(tracer: Tracer | undefined, reconciler: GatewayReconciler) {
  if (tracer === undefined) return (key: string) => reconciler.reconcile(key)
  return (key: string) => tracer.reconcile(key, (trace) => reconciler.reconcile(key, trace))
}

function makeDiscovery(
  { log, mayRoute = false, mayPool = false, timings }: ControllerOptions,
  { api, world }: ControllerParts,
  addAll: () => void,
): Discovery {
  const discovery: Discovery = new Discovery({
    api,
    mayRoute,
    mayPool,
    lookMs: timings?.discoveryMs,
    onChange() {
      const {
        hasHttpRoutes,
        hasTenantPolicies = false,
        hasInferencePools = false,
      } = discovery.platform
      void world.watchOptional('httpRoutes', hasHttpRoutes)
      void world.watchOptional('tenantPolicies', hasTenantPolicies)
      // A missing pool causes no watch event.
      void world.watchOptional('inferencePools', hasInferencePools).then(addAll)
      addAll()
    },
    onError: (error) => log.event('warn', 'discovery', messageOf(error)),
  })
  return discovery
}

function makeEvents({ log, identity }: ControllerOptions, api: ApiClient): Events {
  return new Events({
    api,
    instance: identity,
    wallClock: Date.now,
    newId: () => randomBytes(6).toString('hex'),
    onError: (error) => log.event('warn', 'event', messageOf(error)),
  })
}

function writersOf(
  { telemetry, rolloutsMax, log }: ControllerOptions,
  { api, world, signing, events }: ControllerParts & { signing: SigningKeeper; events: Events },
) {
  return {
    config: new ConfigReconciler({ api, world, signingKeys: () => signing.keys }),
    workload: new WorkloadReconciler({
      api,
      world,
      rolloutsMax,
      onApply: (kind, result) => telemetry.applies.inc({ kind, result }),
      onEdit(gateway, edit) {
        const note = showEdit(edit)
        events.tellOfEdit(gateway, note)
        log.event('warn', 'edit_reverted', note, { gateway: keyOf(gateway), ...edit })
      },
    }),
    mounts: new MountKeeper({
      api,
      wallClock: Date.now,
      clock: () => performance.now(),
      onError: (error) => log.event('warn', 'mounts', messageOf(error)),
    }),
    status: new StatusReconciler({
      api,
      events,
      wallClock: Date.now,
      onWrite: () => telemetry.statusUpdates.inc(),
    }),
  }
}

function makePusher(
  { telemetry, timings, tracer }: ControllerOptions,
  transport: Transport,
  onChange: (gateway: string) => void,
): Pusher {
  return new Pusher({
    transport,
    random: Math.random,
    onChange,
    onPush: ({ part: document, trace: context, ...push }) => {
      const { result, seconds } = push
      tracer?.push({ ...push, document, context })
      telemetry.pushes.inc({ document, result })
      telemetry.pushSeconds.observe({ document }, seconds)
    },
    ...(timings?.pusher && { timings: timings.pusher }),
  })
}

interface EndpointsParts {
  readonly signing: SigningKeeper
  readonly discovery: Discovery
  readonly onTrouble: (gateway: string) => void
}

function makeEndpoints(
  { telemetry, log }: ControllerOptions,
  { api, transport, world }: ControllerParts,
  { signing, discovery, onTrouble }: EndpointsParts,
): EndpointsKeeper {
  return new EndpointsKeeper({
    ...{ api, transport, random: Math.random, wallClock: Date.now, onTrouble },
    poolOf(key) {
      if (!discovery.platform.hasInferencePools) return 'unserved'
      const pool = world.stores.inferencePools.get(key)
      return pool ?? (world.knows('inferencePools') ? 'missing' : 'unknown')
    },
    zonesOf: (gateway) => zonesOf(world, gateway),
    signingKeys: () => signing.keys,
    onError: (message) => log.event('warn', 'endpoints', message),
    onPush(result, seconds) {
      telemetry.pushes.inc({ document: 'endpoints', result })
      telemetry.pushSeconds.observe({ document: 'endpoints' }, seconds)
    },
  })
}
