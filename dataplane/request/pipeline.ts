/** The life of one request of a model, top-down: a line is a stage, a stage is a file of that name. */

import type { FurtherLimits } from '../accounts/further/limits.ts'
import type { Subject } from '../accounts/further/selectors.ts'
import type { Caller } from '../call/call.ts'
import type { Route, Snapshot } from '../config/snapshot.ts'
import { AttemptQuotas } from '../limits/attempt-quotas.ts'
import { type Applicant, refuseKnown } from '../limits/decision.ts'
import type { Section } from '../schema/index.ts'
import { continuing } from '../telemetry/correlation.ts'
import { endUserOf, shownUser, USER_HEADER } from '../usage/end-user.ts'
import type { Dialect } from '../wire/dialect.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import type { Inspector } from '../wire/inspection.ts'
import type { Visit } from './api.ts'
import type { ClientResponse } from './response.ts'
import { type Copy, copyOf } from './shadow/copy.ts'
import { type Admission, admit } from './stages/admit.ts'
import { attempt } from './stages/attempt.ts'
import type { AttemptedRequest } from './stages/attempting/asked.ts'
import { cleared } from './stages/guard.ts'
import { permit } from './stages/match.ts'
import { type Prepared, prepare } from './stages/prepare.ts'
import { read } from './stages/read.ts'
import { judgeHead } from './stages/receive.ts'
import { relay } from './stages/relay.ts'
import { closeWhole, costSoFar, countLate, savedSoFar, settle } from './stages/settle.ts'
import { requireTags } from './stages/tagged.ts'
import { identify } from './visit.ts'

/** The part of an API that depends on the operation: it runs after the request was read and permitted. */
export type Work = (applicant: Applicant, dialect: Dialect, visit: Visit) => Promise<void>

export async function handle(visit: Visit, dialect: Dialect, work: Work = serve): Promise<void> {
  const { call, active, gateway, notes } = visit
  const { snapshot } = active
  const identifying = identify(visit)
  const caller = identifying instanceof Promise ? await identifying : identifying
  notes.invokes(dialect, caller)
  const settings = boundsOf(snapshot.section.gateway, dialect)
  judgeHead(call.incoming, settings.max_request_bytes, dialect.form !== undefined)
  permit(caller)
  const { isFree = false } = dialect
  const rules = snapshot.limits.rules.of(caller.tenant, caller.key.record.id)
  refuseKnown(caller.tenant, rules, gateway, isFree)
  const held = gateway.bodies.enter(caller.tenant, isFree)
  try {
    const announced = { call, caller, dialect, rules, settings }
    const { request, route } = await read(announced, held, snapshot, gateway, notes)
    const further = isFree ? undefined : limitsFor(caller, snapshot)
    const isAsked = further !== undefined || snapshot.limits.quotas !== undefined
    const user = userOf(caller, request, visit)
    notes.endUser = shownUser(snapshot.section.usage.end_user, user)
    const subject = isAsked ? subjectOf(caller, route, { request, user }, visit) : undefined
    const applied =
      further && subject ? further.of(rules, caller.key, subject, gateway.clock) : rules
    await work({ call, request, caller, route, rules: applied, subject }, dialect, visit)
  } finally {
    held.leave()
  }
}

/** Without an inspector, answers pass unchanged if the client speaks the upstream's wire. */
export async function serve(
  applicant: Applicant,
  dialect: Dialect,
  visit: Visit,
  inspector?: Inspector,
): Promise<void> {
  const { active, gateway, notes, response } = visit
  const { request } = applicant
  notes.asks(request)
  requireTags(active.snapshot.section.usage.required_tags, visit.trace.tags ?? '', applicant.caller)
  const admitting = admit(applicant, active, gateway)
  const admission = admitting instanceof Promise ? await admitting : admitting
  notes.admitted(admission)
  const quotas = quotasFor(applicant, admission, visit)
  let copy: Copy | undefined
  try {
    opens(response, dialect, request, active.snapshot.section)
    const preparing = prepare(applicant, admission, inspector, visit)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    const chosen = copyFor(prepared, applicant, admission, { dialect, visit })
    const isCosted = request.stream && active.snapshot.section.usage.in_answers
    const sent = askedOf(prepared, applicant, dialect, visit)
    const costed = isCosted ? { ...sent, cost: () => costSoFar(request, admission) } : sent
    const asked = quotas === undefined ? costed : { ...costed, quotas }
    const send = () => attempt(asked, prepared.terms, gateway)
    const answer = await cleared(prepared.verdict, response.presence, send)
    // A request that a guardrail has blocked meanwhile is not copied.
    copy = chosen
    const reply = copy === undefined ? answer : copy.listening(answer)
    notes.saved(savedSoFar(admission.meter, admission.prices))
    const closing = reply.kind === 'whole' ? closeWhole(request, admission, notes) : undefined
    if (closing !== undefined) await closing
    const relaying = relay(reply, response, gateway.metrics.streamsOpen.at())
    if (relaying !== undefined) await relaying
  } finally {
    const counting = countLate(request, admission)
    if (counting !== undefined) await counting
    notes.charged(settle(request, admission, gateway), admission.meter.addedTokens)
    quotas?.end()
    copy?.start()
  }
}

/** undefined for most requests: the route has no shadow, or chance has not chosen the request. */
function copyFor(
  { request }: Prepared,
  applicant: Applicant,
  admission: Admission,
  { dialect, visit }: { readonly dialect: Dialect; readonly visit: Visit },
): Copy | undefined {
  if (admission.route.section.shadow === undefined) return undefined
  const { active, gateway, trace } = visit
  return copyOf({ request, dialect, applicant, admission, active, gateway, trace })
}

/** undefined if no upstream has a quota. */
function quotasFor(
  { request, caller, call, subject }: Applicant,
  { meter, lease }: Admission,
  { active, gateway }: Visit,
): AttemptQuotas | undefined {
  const { limits } = active.snapshot
  if (limits.quotas === undefined || subject === undefined) return undefined
  const asked = { id: call.id, request, limits, held: lease.held, meter }
  const of = { caller: caller.key, subject }
  return new AttemptQuotas({ ...asked, subject: of }, limits.quotas, gateway)
}

/** The entries of `limits[]`, if any of them may be for the caller. */
function limitsFor({ key, tenant }: Caller, { limits }: Snapshot): FurtherLimits | undefined {
  const { further } = limits
  return further?.mayLimit(key, { key: key.record.id, tenant }) ? further : undefined
}

/** The facts by which entries of `limits[]` select requests. */
function subjectOf(
  { key, tenant }: Caller,
  { name: route, models }: Route,
  { request, user }: { readonly request: ModelRequest; readonly user: string | undefined },
  { trace }: Visit,
): Subject {
  const { operation } = request
  const { model = route, tags = '' } = trace
  return { tenant, key: key.record.id, route, models, model, operation, tags, user }
}

/** undefined if neither limits nor events need the end user. */
function userOf(
  { key }: Caller,
  request: ModelRequest,
  { call, active }: Visit,
): string | undefined {
  const { limits, section } = active.snapshot
  const { end_user: shown, end_user_header: header } = section.usage
  if (shown === 'off' && !limits.further?.looksAtUser && !limits.quotas?.looksAtUser)
    return undefined
  const named = header?.toLowerCase() ?? (shown === 'off' ? undefined : USER_HEADER)
  return endUserOf(key, named, call.incoming, request)
}

/** A body that is a form may be longer than others. */
function boundsOf(settings: Section['gateway'], { form }: Dialect): Section['gateway'] {
  if (form === undefined) return settings
  const max_request_bytes = Math.max(settings.max_request_bytes, form.bytesMax)
  return { ...settings, max_request_bytes }
}

/** Starts the heartbeats for a client that waits for a stream. */
function opens(
  response: ClientResponse,
  dialect: Dialect,
  request: ModelRequest,
  { gateway }: Section,
) {
  response.voice = dialect.voiceOf?.(request)
  if (request.stream) response.heartbeat(gateway.sse.heartbeat_seconds * 1000)
}

function askedOf(
  { request, inspector, difficulty }: Prepared,
  { call, caller }: Applicant,
  dialect: Dialect,
  visit: Visit,
): AttemptedRequest {
  const { gateway, notes, response, trace } = visit
  return {
    request,
    inspector,
    difficulty,
    dialect,
    caller,
    client: visit.call.incoming,
    ids: continuing(trace, gateway.tracing),
    receivedAt: call.receivedAt,
    presence: response.presence,
    witness: notes,
  }
}
