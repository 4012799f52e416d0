/**
 * Sends the copy of a request to its upstream, once: under the limits and the budget of the shadow's tenant, with nothing
 * to wait for, and compares both answers.
 */
import type { Subject } from '../../accounts/further/selectors.ts'
import { isBudgeted } from '../../accounts/rules.ts'
import { recall } from '../../body/request.ts'
import type { Caller } from '../../call/call.ts'
import { keyOf } from '../../call/key-entry.ts'
import { Presence } from '../../call/presence.ts'
import type { Route } from '../../config/snapshot.ts'
import { decide, type Limited, refuseKnown } from '../../limits/decision.ts'
import { type Quote, quoteOf } from '../../limits/quote.ts'
import type { ShadowAnswer } from '../../rollout/shadows.ts'
import type { ShadowSection } from '../../schema/index.ts'
import { newTrace } from '../../telemetry/trace/code.ts'
import type { Trace } from '../../telemetry/trace/fields.ts'
import { Meter } from '../../tokens/meter.ts'
import { serves } from '../../translation/pair.ts'
import type { Lane, Target } from '../../upstream/live/targets.ts'
import { noteCharges } from '../charged.ts'
import { countLate, type Settled, settle } from '../stages/settle.ts'
import { type AnsweredCopy, answerOf, type Copied } from './exchange.ts'
import type { CopiedRequest, Heard } from './heard.ts'

/** The key of copies in rows of usage. */
const KEY = 'shadow'

interface SentCopy extends CopiedRequest {
  readonly shadow: ShadowSection
  readonly target: Target
  readonly presence: Presence
  readonly caller: Caller
  readonly subject: Subject
}

/** Never throws, and ends by itself. */
export function sendCopy(copied: CopiedRequest, shadow: ShadowSection, heard: Heard): void {
  const { gateway, admission, request } = copied
  const { shadows } = gateway
  const { name } = admission.route
  const target = gateway.embeddings.upstream(shadow.upstream)
  if (target === undefined || target.standing(gateway.clock.now(), true) !== 'ready') {
    shadows.count(name, 'unavailable')
    return
  }
  if (!serves(target.settings.provider, request.operation)) {
    shadows.count(name, 'unsupported')
    return
  }
  const presence = new Presence()
  const leave = shadows.enter(request.bytes.length, () => presence.end())
  if (leave === undefined) {
    shadows.count(name, 'busy')
    return
  }
  const caller = callerOf(shadow.tenant)
  const subject = subjectOf(copied, shadow.tenant, target)
  void run({ ...copied, shadow, target, presence, caller, subject }, heard)
    .catch(() => shadows.count(name, 'refused'))
    .finally(leave)
}

/** Rejects if the limits of the tenant refuse the copy. */
async function run(sending: SentCopy, heard: Heard): Promise<void> {
  const { gateway, admission, dialect, target, shadow } = sending
  await recall(sending.request, dialect.reading)
  const request = { ...sending.request, tenant: shadow.tenant }
  const copy = { ...sending, request }
  const settled = await admitted(copy)
  const trace = traceOf(copy)
  const { meter, lease } = settled
  const sent: Copied = { ...copy, meter, held: lease.held, trace }
  let answered: AnsweredCopy | undefined
  try {
    answered = await answerOf(sent)
  } finally {
    await countLate(request, settled)
    noteCharges(trace, settle(request, settled, gateway), meter.addedTokens)
  }
  trace.status = answered.status
  trace.duration_ms = answered.endedMs
  if (trace.attempts.length > 0) {
    gateway.usage.add(trace, sending.active.snapshot.upstreams)
    gateway.usageEvents?.add(trace, sending.active.snapshot)
  }
  const { name } = admission.route
  gateway.metrics.shadowDuration.at(name, target.name).observe(answered.endedMs / 1000)
  gateway.shadows.count(name, answered.result)
  if (answered.result !== 'ok' && answered.result !== 'failed') return
  gateway.shadows.compare(name, {
    request_id: sending.trace.request_id,
    time: sending.trace.time,
    real: shown(sending.trace, heard),
    shadow: shown(trace, answered.heard),
  })
}

/** The lease of the copy. Throws the refusal. */
async function admitted({
  gateway,
  active,
  admission,
  request,
  target,
  shadow,
  caller,
  subject,
}: SentCopy): Promise<Settled & Pick<Quote, 'tokens'>> {
  const { limits } = active.snapshot
  const lane: Lane = { targets: [target], turn: 0 }
  const route = routeTo(admission.route, target)
  const all = limits.rules.of(shadow.tenant, KEY)
  refuseKnown(shadow.tenant, all, gateway)
  const { further } = limits
  const isLimited = further?.mayLimit(caller.key, { key: KEY, tenant: shadow.tenant }) === true
  const rules = isLimited ? further.of(all, caller.key, subject, gateway.clock) : all
  const quote = await quoteOf(request, lane, isBudgeted(rules) ? route : undefined)
  const meter = new Meter()
  const call = { id: gateway.newRequestId(), receivedAt: gateway.clock.now() }
  const limited: Limited = { call, request, caller, route, rules, subject, quote, limits, meter }
  const decision = await decide(limited, new Map([[route.name, lane]]), gateway)
  return {
    ...{ route: decision.route, lane, lease: decision.lease, meter, prices: limits.prices },
    estimated: undefined,
    // A copy is no request of a client, and nothing may scale by it.
    inFlight: { value: 0 },
    tokens: quote.tokens,
  }
}

function subjectOf({ admission, request }: CopiedRequest, tenant: string, target: Target): Subject {
  const { name: route } = admission.route
  const { operation } = request
  return {
    tenant,
    key: KEY,
    route,
    models: [target.settings.model],
    model: route,
    operation,
    tags: '',
  }
}

function routeTo(route: Route, { settings }: Target): Route {
  const { sent: _, ...rest } = route
  const members = [{ upstream: settings, weight: 1 }]
  return { ...rest, members, models: [settings.model], group: undefined, rollout: undefined }
}

function callerOf(tenant: string): Caller {
  const hash = `sha256:${'0'.repeat(64)}`
  const scopes = ['models:invoke' as const]
  return { tenant, key: keyOf({ id: KEY, tenant, hash, scopes, routes: ['*'] } as never) }
}

function traceOf({ gateway, trace: real, admission, shadow, target, request }: SentCopy): Trace {
  const time = new Date(gateway.clock.wall()).toISOString()
  const trace = newTrace(gateway.newRequestId(), time, real.method, real.path)
  trace.tenant = shadow.tenant
  trace.key = KEY
  trace.operation = real.operation
  trace.model = real.model
  trace.route = admission.route.name
  trace.upstream = target.name
  trace.stream = request.stream
  return trace
}

function shown(trace: Trace, heard: Heard): ShadowAnswer {
  const last = trace.attempts.at(-1)
  const reasons = last?.answer?.finish_reasons.filter((reason) => reason !== null) ?? []
  const { text } = heard
  return {
    status: trace.status,
    outcome: last?.outcome ?? 'none',
    prompt_tokens: last?.usage?.input_tokens,
    completion_tokens: last?.usage?.output_tokens,
    first_ms: last?.outcome === 'ok' ? last.ended_ms - last.started_ms : undefined,
    finish: reasons[0],
    bytes: heard.bytes,
    ...(text !== undefined && { text }),
  }
}
