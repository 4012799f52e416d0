/** A status of a gateway, from facts that can be changed one by one. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { CONDITIONS } from '../../crds/conditions.ts'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { compile } from '../../operator/compile/compile.ts'
import { signConfiguration } from '../../operator/delivery/bundle.ts'
import type { LaneState } from '../../operator/delivery/pod-lane.ts'
import { readReport } from '../../operator/delivery/pod-reports.ts'
import type { PodState } from '../../operator/delivery/pusher.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import type { StatusFacts } from '../../operator/status/facts.ts'
import { gatewayStatus } from '../../operator/status/gateway-status.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const { privateKey } = generateKeyPairSync('ed25519')
export const NOW = '2026-06-01T00:00:00Z'

export function documentOf(gateway: KubeObject) {
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const identity = { uid: 'uid-1', namespace: 'ai', name: 'production' }
  const facts = { gateway: identity, sequence: 5, generation: 3 }
  return signConfiguration(configuration.payload, facts, { privateKey, keyId: 'k', trusted: {} })
}

const document = documentOf(aGateway())

export function aPod(
  name: string,
  configuration: LaneState = { state: 'acknowledged' },
  report: object = {},
): PodState {
  const { hash, documentHash, sequence, generation } = document
  const enforced = { hash, documentHash, sequence, generation, newestSequence: sequence }
  return {
    target: { uid: name, name, origin: 'http://x', ready: true },
    report: readReport({ configuration: enforced, keys: { sequence: 1 }, ...report }),
    configuration,
    keys: { state: 'acknowledged' },
  }
}

export const deployment = {
  metadata: { name: 'production', generation: 1 },
  spec: { replicas: 2 },
  status: {
    observedGeneration: 1,
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    readyReplicas: 2,
  },
}

export function statusOf(facts: Partial<StatusFacts> = {}): GatewayStatus {
  const before = GatewayStatus.parse({})
  const status = gatewayStatus({ before, now: NOW, ...factsOf(facts), ...facts })
  for (const { type, reason } of status.conditions) assertKnown(type, reason)
  return status
}

/** A gateway whose two pods enforce it. */
export function factsOf(facts: Partial<StatusFacts> = {}): Omit<StatusFacts, 'before' | 'now'> {
  const { gateway = aGateway() } = facts
  return {
    gateway,
    isPaused: false,
    compiled: compile({ gateway, keys: [], now: 0 }),
    documents: { configuration: document },
    lastKnownGoodHash: undefined,
    pods: [aPod('a'), aPod('b')],
    podObjects: [],
    deployment,
    service: { metadata: { name: 'production' }, spec: { ports: [{ port: 80 }] } },
    httpRoute: undefined,
    hasHttpRoutes: false,
    endpoints: 2,
    endpointsTrouble: { pools: [], services: [], empty: [] },
    workload: { kind: 'applied' },
    ...facts,
  }
}

/** The summary repeats the reason of the first fault. */
function assertKnown(type: string, reason: string): void {
  const reasons: Readonly<Record<string, readonly string[]>> = CONDITIONS
  const known = type === 'Ready' ? Object.values(reasons).flat() : (reasons[type] ?? [])
  assert.ok(known.includes(reason), `${type} has the reason ${reason}, which no document explains`)
}

export function conditionOf(status: GatewayStatus, type: string) {
  const found = status.conditions.find((condition) => condition.type === type)
  return { status: found?.status, reason: found?.reason, message: found?.message ?? '' }
}

/** `True Reason`. */
export function says(status: GatewayStatus, type: string): string {
  const { status: value, reason } = conditionOf(status, type)
  return `${value} ${reason}`
}
