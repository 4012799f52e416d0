/** The body of GET /status: the enforced configuration and the state of its upstreams. */

import type { Clock } from '../base/clock.ts'
import { VERSION } from '../base/version.ts'
import { reportedCertificate } from '../config/listener-certificate.ts'
import type { Activation } from '../gateway/activation.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Guard } from '../guardrails/guard.ts'
import { quotasShown, type ShownQuotas } from '../limits/shown/quotas.ts'
import { ESTIMATE } from '../tokens/counter.ts'
import { credentialStatus } from '../upstream/credentials/upstream-credential.ts'
import { isPushed } from '../upstream/endpoints/pushed.ts'
import type { Target } from '../upstream/live/targets.ts'
import { listedBy } from '../upstream/named/listed-models.ts'
import type { AskedStore } from '../vector-stores/asked-store.ts'

export async function statusOf(gateway: Gateway, { last, loaded }: Activation) {
  const { snapshot } = gateway.active
  const quotas = await quotasShown(gateway)
  return {
    version: VERSION,
    time: new Date(gateway.clock.wall()).toISOString(),
    state: gateway.draining ? 'draining' : 'serving',
    config: {
      file: loaded.file,
      hash: snapshot.hash,
      routes: snapshot.routes.size,
      keys: snapshot.keys.size,
      last_reload: last,
    },
    requests_in_flight: sum(gateway, 'inFlight'),
    streams_open: sum(gateway, 'streamsOpen'),
    store: gateway.storeStatus(),
    ...reportedCertificate(snapshot.section),
    upstreams: upstreamsOf(gateway, quotas),
    ...(!gateway.issuers.isEmpty && { issuers: gateway.issuers.list() }),
    guardrails: gateway.guards.list().map((guard) => guardrailStatus(guard, gateway.clock)),
    vector_stores: gateway.retrievals.stores.map((store) => storeStatus(store, gateway.clock)),
    classifiers: gateway.classifiers.list(),
    objectives: gateway.objectives.list(),
    verification: gateway.verifier?.report(),
  }
}

function sum({ metrics }: Gateway, family: 'inFlight' | 'streamsOpen'): number {
  return [...metrics[family].entries()].reduce((total, [, cell]) => total + cell.value, 0)
}

function upstreamsOf({ active, embeddings, clock }: Gateway, quotas: ShownQuotas) {
  const seen = new Map<string, unknown>()
  for (const { targets } of active.lanes.values()) {
    for (const target of targets) seen.set(target.name, upstreamStatus(target, clock, quotas))
  }
  // Upstreams that only make vectors for the gateway belong to no route.
  for (const name of active.snapshot.upstreams.keys()) {
    const target = seen.has(name) ? undefined : embeddings.upstream(name)
    if (target !== undefined) seen.set(name, upstreamStatus(target, clock, quotas))
  }
  return [...seen.values()]
}

export function upstreamStatus(target: Target, clock: Clock, quotas?: ShownQuotas) {
  const { settings, inFlight, state } = target
  const quota = quotas?.get(target.name)
  const now = clock.now()
  return {
    name: target.name,
    provider: settings.provider.name,
    endpoint: settings.origin + settings.basePath,
    eligible: target.standing(now, false) === 'ready' && quota?.full === undefined,
    why: whyNot(target, now) ?? quota?.full,
    health: healthOf(target),
    breaker: state.breaker.peek(now),
    ...breakerFacts(state, clock),
    ...credentialStatus(state.credential),
    in_flight: inFlight,
    queue: state.reportedQueue ?? 'own requests in flight',
    ...(state.endpoints !== undefined && { endpoints: state.endpoints.list(now) }),
    ...(quota && { quotas: quota.limits }),
    ...coldStartStatus(state.coldStart),
    ...(state.fair && { fairness: { waiting: state.fair.waiting, tenants: state.fair.list() } }),
    ...learntStatus(target),
    ...listedStatus(target, clock),
    tokens: countingStatus(target),
  }
}

type ShownTarget = Pick<Target, 'state' | 'settings'>

/** Only probes show health, so an upstream without a probe is never called healthy. */
function healthOf({ settings, state }: ShownTarget): string {
  const { isHealthy } = state
  if (isHealthy !== undefined) return isHealthy ? 'healthy' : 'unhealthy'
  if (isPushed(settings)) return 'unknown'
  return settings.healthPath === undefined ? 'not probed' : 'not yet probed'
}

/** Undefined if the upstream is eligible. */
function whyNot(target: Target, now: number): string | undefined {
  const { settings, state } = target
  const out = state.outBecause(now)
  switch (out) {
    case 'reference unresolved':
      return `reference unresolved: ${settings.disabled}`
    case 'drained':
      return `it is drained until ${settings.section.drained_until}`
    case 'tokenizer mismatch':
      return 'it serves another model revision than its tokenizer is pinned to'
    case 'no endpoint':
      return 'it has no endpoint'
    case 'unhealthy':
      return 'its health probes fail'
    case 'breaker open':
      return `its breaker is open; last failure: ${state.failedLast ?? 'unknown'}`
    default:
  }
  const status = state.credential.refusedStatus
  if (status !== undefined) return `it refuses the credential of the gateway (${status})`
  if (state.endpoints?.isBare) return 'no pod of its Service takes requests'
  if (target.standing(now, false) !== 'full') return undefined
  const { fair } = state
  return fair === undefined ? 'its queue is full' : `it is full, and ${fair.waiting} requests wait`
}

/** If requests may wait for an endpoint: whether they must, and how many do. */
function coldStartStatus({ settings, isCold, waiting }: Target['state']['coldStart']) {
  return settings && { cold_start: { has_endpoint: !isCold, waiting } }
}

/** The facts about its model that refusals have taught. */
function learntStatus({ settings, state }: ShownTarget) {
  const learnt = state.lessons.about(settings.model)
  return learnt.length > 0 && { learnt }
}

/** The models that it lists itself, if they are asked for. */
function listedStatus(target: Target, clock: Clock) {
  const list = listedBy(target, clock)
  return list && { listed_models: { count: list.known.length, why: list.fault } }
}

/** How prompts are counted, if a budget or a window needs it. */
function countingStatus({ counter, state: { revision } }: Target) {
  const { by, whyEstimated } = counter
  const isExact = by !== ESTIMATE.by && whyEstimated === undefined
  return {
    counted: isExact ? 'exact' : 'estimate',
    by,
    ...(whyEstimated !== undefined && { why: whyEstimated }),
    ...(revision !== undefined && {
      revision: { state: revision.state, pinned: revision.pinned, served: revision.served },
    }),
  }
}

export function guardrailStatus({ section, auxiliary }: Guard, clock: Clock) {
  const { name, protocol, stage, on_error } = section
  const { origin, pathname } = new URL(section.endpoint)
  const endpoint = origin + pathname.replace(/\/+$/, '')
  const breaker = auxiliary.breaker.peek(clock.now())
  return { name, endpoint, protocol, stage, on_error, breaker, ...breakerFacts(auxiliary, clock) }
}

/** The address without user, password and parameters. */
export function storeStatus({ section, auxiliary }: AskedStore, clock: Clock) {
  const { name, provider, collection, embedding, tenant_field, shared } = section
  const { protocol, host, pathname } = new URL(section.endpoint)
  const breaker = auxiliary.breaker.peek(clock.now())
  return {
    name,
    provider,
    endpoint: `${protocol}//${host}${pathname.replace(/\/+$/, '')}`,
    collection,
    embedding,
    ...(shared ? { shared } : { tenant_field }),
    breaker,
    ...breakerFacts(auxiliary, clock),
  }
}

/** Why a breaker is not closed, and until when it is open. */
function breakerFacts(
  { breaker, failedLast }: Pick<Target['state'], 'breaker' | 'failedLast'>,
  clock: Clock,
) {
  const now = clock.now()
  const state = breaker.peek(now)
  if (state === 'closed') return {}
  const leftMs = (breaker.reopensAt ?? now) - now
  return {
    breaker_reason: failedLast,
    ...(state === 'open' && {
      breaker_open_until: new Date(clock.wall() + leftMs).toISOString(),
      breaker_seconds_left: Math.ceil(leftMs / 1000),
    }),
  }
}
