/**
 * The gateway as its own probes see it: the same configuration and upstreams, and none of the counters, limits, prices or
 * records of tenants. Its key exists only here, so no client can use it.
 */
import { hash } from 'node:crypto'
import type { TenantRules } from '../accounts/rules.ts'
import type { Rules } from '../accounts/store.ts'
import { Bodies } from '../body/bodies.ts'
import { type KeyEntry, KeyTable } from '../call/key-entry.ts'
import { CertificateNames } from '../config/certificate-names.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Active } from '../gateway/active.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { KnownRefusals } from '../limits/known-refusals.ts'
import { Leases } from '../limits/leases.ts'
import { Rollouts } from '../rollout/rollouts.ts'
import { Shadows } from '../rollout/shadows.ts'
import { MemoryCells } from '../store/cells/cells.ts'
import { HistoryBook } from '../store/history/book.ts'
import { MemoryStore } from '../store/memory/memory.ts'
import { UsageBook } from '../store/usage-book.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { Objectives } from '../telemetry/slo.ts'
import { Traces } from '../telemetry/traces.ts'

const TENANT = 'gw:verify'
const PLENTY = 1_000_000
const BODY_BYTES = 16_777_216

const FREE: Rules = {
  requestsPerMinute: PLENTY,
  burst: PLENTY,
  concurrentRequests: PLENTY,
  tokensPerMinute: undefined,
  budget: undefined,
}

const FREE_FOR_ALL: TenantRules = {
  of: () => FREE,
  named: new Set(),
  budgetedKeys: new Set(),
  hasBudgetForEach: false,
  yields: () => false,
}

/** `key`: what the probes present. */
export function apartFrom(gateway: Gateway, key: string): Gateway {
  const { clock, random, log } = gateway
  const metrics = createMetrics()
  const store = new MemoryStore({ clock })
  return {
    ...gateway,
    active: activeApart(gateway.active, key),
    metrics,
    log: { ...log, request() {} },
    store,
    storeStatus: () => ({ backend: 'memory' }),
    leases: new Leases(store, clock),
    refusals: new KnownRefusals(),
    bodies: new Bodies(BODY_BYTES),
    usage: new UsageBook(),
    history: new HistoryBook(clock),
    // Follows no route: probes go to the upstreams without the new one, and no rollout counts them.
    rollouts: new Rollouts({ clock, random, metrics, log, cells: new MemoryCells(), alert() {} }),
    usageEvents: undefined,
    objectives: new Objectives({ clock, metrics, log, alert() {} }),
    shadows: new NoShadows(metrics),
    traces: new Traces(1),
    tracing: undefined,
    sending: undefined,
  }
}

function activeApart({ snapshot, lanes }: Active, key: string): Active {
  const { section, limits } = snapshot
  const apart: Snapshot = {
    ...snapshot,
    section: {
      ...section,
      usage: { ...section.usage, tags: [], required_tags: [], tag_headers: [] },
      telemetry: { ...section.telemetry, access_log: false },
    },
    keys: KeyTable.of([[hash('sha256', key), ownKey()]]),
    certificates: new CertificateNames([]),
    // A probe asks whether the upstreams answer, not whether the name is still served.
    sunsets: undefined,
    placements: undefined,
    limits: { ...limits, rules: FREE_FOR_ALL, further: undefined, quotas: undefined },
  }
  return { snapshot: apart, lanes, placed: new Map() }
}

/** A copy would be charged to the tenant of the shadow. */
class NoShadows extends Shadows {
  override enter(): undefined {
    return undefined
  }
}

function ownKey(): KeyEntry {
  const record = { id: 'gw-verify', tenant: TENANT, hash: '', scopes: [], routes: ['*'] }
  const rights = { usable: true, invokes: true, lists: false }
  const all = { routes: undefined, prefixes: undefined, tags: undefined }
  return { record, expiresAt: Number.POSITIVE_INFINITY, ...rights, ...all }
}
