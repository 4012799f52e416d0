/** The life of one request of a model, top-down: a line is a stage, a stage is a file of that name. */

import { giveBack } from '../base/spent-bytes.ts'
import { scanBody, scanForm, understand } from '../body/request.ts'
import type { Call } from '../call/call.ts'
import { textsOf } from '../guardrails/request-texts.ts'
import { type Applicant, chargeRefused, refuseKnown, withoutBudget } from '../limits/decision.ts'
import { shownPassage } from '../retrieval/passages.ts'
import type { Section } from '../schema/index.ts'
import { continuing, visibleId } from '../telemetry/correlation.ts'
import { KeptTexts } from '../telemetry/kept-texts.ts'
import type {
  AttemptTrace,
  GuardrailTrace,
  PassedOver,
  RetrievalTrace,
  WaitTrace,
} from '../telemetry/traces.ts'
import type { Witness } from '../upstream/attempt/parts.ts'
import { metadataIn, tagsOf } from '../usage/tags.ts'
import type { Dialect } from '../wire/dialect.ts'
import type { ChatRequest, ModelRequest } from '../wire/inner-form.ts'
import type { Inspector } from '../wire/inspection.ts'
import type { Visit } from './api.ts'
import { type Admission, admit } from './stages/admit.ts'
import { type Assembled, assemble } from './stages/assemble.ts'
import { attempt } from './stages/attempt.ts'
import { classify } from './stages/classify.ts'
import { cleared, type Guarded, guard, guardrailsOf } from './stages/guard.ts'
import { match, matchAhead, permit } from './stages/match.ts'
import { judgeHead, receive } from './stages/receive.ts'
import { relay } from './stages/relay.ts'
import { countLate, noteUsage, settle } from './stages/settle.ts'
import { identify } from './visit.ts'

/** The part of an API's work that begins once a request has been read, and may go where it leads. */
export type Work = (applicant: Applicant, dialect: Dialect, visit: Visit) => Promise<void>

export async function handle(visit: Visit, dialect: Dialect, work: Work = serve): Promise<void> {
  const { call, active, gateway, trace, response } = visit
  const { snapshot } = active
  const { form } = dialect
  const settings = boundsOf(snapshot.section.gateway, dialect)
  trace.operation = dialect.operation
  const known = identify(visit)
  // Only a token that is new has to be waited for.
  const caller = known instanceof Promise ? await known : known
  const { tenant } = caller
  const { tags } = snapshot.section.usage
  if (tags.length > 0) trace.tags = tagsOf(tags, caller.key.tags, call.incoming)
  judgeHead(call.incoming, settings.max_request_bytes, form !== undefined)
  permit(caller)
  const all = snapshot.limits.rules.of(tenant, caller.key.record.id)
  const rules = dialect.isFree === true ? withoutBudget(all) : all
  refuseKnown(tenant, rules, gateway)
  const held = gateway.bodies.enter(tenant)
  let isJudged = false
  let large: Buffer | undefined
  try {
    const type = form && call.incoming.header('content-type')
    const look = type === undefined ? undefined : matchAhead(type, caller, snapshot)
    const received = receive(call, held, { settings, rules, look }, gateway)
    // Most bodies come with their head, and most are scanned at once.
    const bytes = received instanceof Promise ? await arrival(received, visit) : received
    if (held.isLarge) large = bytes
    const scan = type === undefined ? scanBody(bytes) : scanForm(bytes, type)
    const scanned = scan instanceof Promise ? await scan : scan
    const route = match(scanned.model, caller, snapshot)
    trace.model = scanned.model
    response.route = route.name
    const span = tags.length > 0 ? scanned.found?.spans.get('metadata') : undefined
    if (span) trace.tags = tagsOf(tags, caller.key.tags, call.incoming, metadataIn(bytes, span))
    const understood = understand(scanned, dialect.reading, Math.floor(gateway.clock.wall() / 1000))
    const request = understood instanceof Promise ? await understood : understood
    isJudged = true
    if (dialect.sessionHeader !== undefined)
      trace.session_id = visibleId(call.incoming.header(dialect.sessionHeader))
    if (dialect.forwards !== undefined) request.forwarded = named(dialect.forwards, call)
    await work({ call, request, caller, route, rules }, dialect, visit)
  } catch (error) {
    if (!isJudged && held.isLarge) {
      // Only this function has it: it was refused before it could be sent.
      if (large !== undefined) giveBack(large)
      await chargeRefused({ tenant, id: call.id }, rules, gateway)
    }
    throw error
  } finally {
    held.leave()
  }
}

type Bounds = Section['gateway']

function boundsOf(settings: Bounds, { form }: Dialect): Bounds {
  if (form === undefined) return settings
  const max_request_bytes = Math.max(settings.max_request_bytes, form.bytesMax)
  return { ...settings, max_request_bytes }
}

/** Those headers of the client that are there. */
function named(names: readonly string[], { incoming }: Call): Record<string, string> {
  const found = names.map((name) => [name, incoming.header(name)] as const)
  return Object.fromEntries(found.filter((one): one is [string, string] => one[1] !== undefined))
}

/** Notes how long the body took to come. */
async function arrival(body: Promise<Buffer>, { gateway, trace }: Visit): Promise<Buffer> {
  const began = gateway.clock.now()
  const bytes = await body
  trace.body_ms = gateway.clock.now() - began
  return bytes
}

/** Without an inspector, answers pass as the upstream sends them where the client speaks its wire. */
export async function serve(
  applicant: Applicant,
  dialect: Dialect,
  visit: Visit,
  inspector?: Inspector,
): Promise<void> {
  const { active, gateway, trace, response } = visit
  const { call, request } = applicant
  trace.stream = request.stream
  trace.max_tokens = request.maxTokens
  visit.asks(request)
  if (request.choices > 1) trace.choices = request.choices
  const decided = admit(applicant, active, gateway)
  // A store in this process answers at once; only a shared one is waited for.
  const admission = decided instanceof Promise ? await decided : decided
  noteAdmission(admission, visit)
  trace.max_tokens ??= admission.maxTokens
  trace.counted_tokens = admission.counted
  trace.counted_by = admission.countedBy
  if (admission.countedBy !== undefined) trace.counted_exact = admission.countedBy === 'exact'
  try {
    if (request.stream)
      response.heartbeat(active.snapshot.section.gateway.sse.heartbeat_seconds * 1000)
    const ids = continuing(trace, gateway.tracing)
    response.voice = dialect.voiceOf?.(request)
    const witness = new Notes(visit)
    // Most routes have no guardrail and no retrieval, and wait for none.
    const { retrieval, semantic, trace: traced } = admission.route.section
    const guardrails = guardrailsOf(applicant.route, admission.route)
    const guarded: Guarded =
      guardrails.length === 0
        ? { request, inspector }
        : await judged(applicant, { ...admission, guardrails }, visit)
    const assembly =
      retrieval.length === 0 || guarded.request.operation !== 'chat'
        ? undefined
        : await assembled(guarded.request, admission, visit)
    if (traced?.keep_texts) {
      const words = textsOf(assembly?.request ?? guarded.request)
      trace.texts = new KeptTexts(words, assembly?.passages ?? [])
    }
    // The client's own words are judged, not the passages beside them.
    const difficulty = semantic ? await difficultyOf(guarded.request, admission, visit) : undefined
    const asked = {
      request: assembly?.request ?? guarded.request,
      inspector: guarded.inspector,
      difficulty,
      client: visit.call.incoming,
      caller: applicant.caller,
      dialect,
      ids,
      receivedAt: call.receivedAt,
      presence: response.presence,
      witness,
    }
    const terms = assembly === undefined ? admission : { ...admission, fits: assembly.fits }
    const { verdict } = guarded
    const reply =
      verdict === undefined
        ? await attempt(asked, terms, gateway)
        : await cleared(verdict, response.presence, () => attempt(asked, terms, gateway))
    const relayed = relay(reply, response, gateway.metrics.streamsOpen.at())
    if (relayed !== undefined) await relayed
  } finally {
    const counting = countLate(request, admission)
    if (counting !== undefined) await counting
    noteUsage(settle(request, admission, gateway), admission, visit.trace)
  }
}

function noteAdmission({ route, limitHeaders, maxTokens }: Admission, visit: Visit): void {
  const { response, trace } = visit
  response.limits = limitHeaders
  response.route = route.name
  trace.strategy = route.strategy.name
  // Never cut to what the budget leaves: the request that crosses the cap is served whole.
  if (maxTokens !== undefined) response.headers.push('x-gw-max-tokens', String(maxTokens))
}

/** A model that comes up and goes down again may be waited for many times. */
const WAITS_MAX = 32

/** Writes attempts into the trace, and into the headers of the answer, as they begin and end. */
class Notes implements Witness {
  readonly #visit: Visit

  constructor(visit: Visit) {
    this.#visit = visit
  }

  passedOver(upstreams: readonly PassedOver[]): void {
    this.#visit.trace.passed_over = upstreams
  }

  waited(wait: WaitTrace): void {
    const { trace } = this.#visit
    trace.waits = [...(trace.waits ?? []), wait].slice(0, WAITS_MAX)
  }

  began(attempt: AttemptTrace): void {
    const { response, trace } = this.#visit
    response.upstream = attempt.upstream
    response.upstreamRequestId = undefined
    response.dropped = attempt.dropped
    trace.attempts.push(attempt)
  }

  ended(attempt: AttemptTrace): void {
    const { response, trace } = this.#visit
    response.upstreamRequestId = attempt.upstream_request_id
    if (trace.stream && attempt.outcome === 'ok') trace.ttft_ms = attempt.ended_ms
  }
}

function judged(
  { call, request }: Applicant,
  terms: Parameters<typeof guard>[2],
  visit: Visit,
): Promise<Guarded> {
  const note = (judgement: GuardrailTrace) => noteJudgement(judgement, visit)
  const asked = { requestId: call.id, presence: visit.response.presence }
  return guard(request, asked, terms, { guards: visit.gateway.guards, note })
}

async function difficultyOf(
  request: ModelRequest,
  admission: Admission,
  { call, gateway, response, trace }: Visit,
): Promise<number> {
  const leftMs = admission.totalAt - gateway.clock.now()
  const where = { requestId: call.id, leftMs, presence: response.presence }
  const made = await classify(request, admission, where, gateway)
  trace.semantic = made
  const { side, score, classifier } = made
  response.headers.push('x-gw-semantic', `${side}; score=${score.toFixed(3)}; by=${classifier}`)
  return score
}

/** A long stream is judged hundreds of times. */
const JUDGEMENTS_MAX = 100

function noteJudgement(judgement: GuardrailTrace, { trace }: Visit): void {
  trace.guardrails ??= []
  if (trace.guardrails.length < JUDGEMENTS_MAX) trace.guardrails.push(judgement)
}

/** A search may find a thousand. */
const PASSAGES_MAX = 100

async function assembled(
  request: ChatRequest,
  admission: Admission,
  { active, call, gateway, trace, response }: Visit,
): Promise<Assembled> {
  const searches: RetrievalTrace[] = []
  trace.retrieval = searches
  const made = await assemble(request, admission, {
    retrievals: gateway.retrievals,
    library: gateway,
    presence: response.presence,
    requestId: call.id,
    note: (search) => searches.push(search),
    reserved: active.snapshot.section.context?.reserve_completion_tokens ?? 0,
  })
  trace.passages = made.passages.slice(0, PASSAGES_MAX).map(shownPassage)
  trace.context = made.context
  return made
}
