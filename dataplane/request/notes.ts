/** The only writer of a request's trace, and of the facts in the headers of its answer. */
import type { GatewayError, Learnt } from '../base/errors.ts'
import type { Scanned } from '../body/request.ts'
import type { Call, Caller } from '../call/call.ts'
import type { Route } from '../config/snapshot.ts'
import type { Active } from '../gateway/active.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { usdText } from '../limits/headers.ts'
import { type Passage, shownPassage } from '../retrieval/passages.ts'
import { visibleId } from '../telemetry/correlation.ts'
import type { KeptTexts } from '../telemetry/kept-texts.ts'
import { type AttemptTrace, TEXTS, type Trace } from '../telemetry/trace/fields.ts'
import type {
  ContextTrace,
  GuardrailTrace,
  PassedOver,
  RetrievalTrace,
  SemanticTrace,
  WaitTrace,
} from '../telemetry/trace/parts.ts'
import { type Parameters, parametersOf } from '../telemetry/tracing/parameters.ts'
import type { Witness } from '../upstream/attempt/parts.ts'
import { metadataIn, tagsOf } from '../usage/tags.ts'
import type { AnswerCost, Dialect } from '../wire/dialect.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { noteCharges } from './charged.ts'
import type { ClientResponse } from './response.ts'
import type { Admission } from './stages/admit.ts'
import type { Charge } from './stages/settle.ts'

/** A request may wait many times for a model that starts and stops again. */
const WAITS_MAX = 32
/** Guardrails judge a long stream hundreds of times. */
const JUDGEMENTS_MAX = 100
/** A search may find a thousand passages. */
const PASSAGES_MAX = 100

/** The parts of a visit that its notes need. */
export interface Noted {
  readonly call: Call
  readonly response: ClientResponse
  readonly trace: Trace
  readonly gateway: Gateway
  /** After the caller is known, with the upstreams that the tenant may use. */
  active: Active
}

export class Notes implements Witness {
  readonly #noted: Noted
  /** The request's parameters, for its spans; undefined unless traces are sent. */
  parameters: Parameters | undefined
  /** The end user as usage events show it. Not in the trace, which logs, lists and metrics read. */
  endUser: string | undefined

  constructor(noted: Noted) {
    this.#noted = noted
  }

  calledBy({ tenant, key }: Caller): void {
    const { trace } = this.#noted
    trace.tenant = tenant
    trace.key = key.record.id
  }

  /** Tags of the key and of headers; those of the body follow with `matched`. */
  invokes({ operation }: Dialect, { key }: Caller): void {
    const { trace, call } = this.#noted
    trace.operation = operation
    const { usage } = this.#noted.active.snapshot.section
    if (usage.tags.length > 0) trace.tags = tagsOf(usage, key.tags, call.incoming)
  }

  /** The body is complete, `ms` after the gateway began to read it. */
  arrived(ms: number): void {
    this.#noted.trace.body_ms = ms
  }

  matched({ model, bytes, found }: Scanned, { name }: Pick<Route, 'name'>, { key }: Caller): void {
    const { trace, response, active, call } = this.#noted
    trace.model = model
    response.route = name
    const { sunsets, models, section } = active.snapshot
    const sunset = sunsets?.of(model, models.get(model)?.name ?? name)
    if (sunset !== undefined) this.#ends(sunset)
    const { usage } = section
    const span = usage.tags.length > 0 ? found?.spans.get('metadata') : undefined
    if (span) trace.tags = tagsOf(usage, key.tags, call.incoming, metadataIn(bytes, span))
  }

  /** The request is for an object that an upstream of the route stores. */
  keptAt(route: string, upstream: string): void {
    const { trace, response } = this.#noted
    trace.model = route
    response.route = route
    response.upstream = upstream
  }

  session({ sessionHeader }: Dialect): void {
    if (sessionHeader === undefined) return
    const { trace, call } = this.#noted
    trace.session_id = visibleId(call.incoming.header(sessionHeader))
  }

  asks(request: ModelRequest): void {
    const { trace, gateway } = this.#noted
    trace.stream = request.stream
    trace.max_tokens = request.maxTokens
    if (request.choices > 1) trace.choices = request.choices
    if (gateway.tracing !== undefined) this.parameters = parametersOf(request)
  }

  admitted({ route, limitHeaders, maxTokens, counted, countedBy }: Admission): void {
    const { response, trace } = this.#noted
    response.limits = limitHeaders
    response.route = route.name
    trace.strategy = route.strategy.name
    // The limit is never cut to the rest of the budget: a request that crosses the cap is served whole.
    if (maxTokens !== undefined) response.headers.push('x-gw-max-tokens', String(maxTokens))
    trace.max_tokens ??= maxTokens
    trace.counted_tokens = counted
    trace.counted_by = countedBy
    if (countedBy !== undefined) trace.counted_exact = countedBy === 'exact'
  }

  judged(judgement: GuardrailTrace): void {
    const { trace } = this.#noted
    trace.guardrails ??= []
    if (trace.guardrails.length < JUDGEMENTS_MAX) trace.guardrails.push(judgement)
  }

  /** Returns the list to which retrieval adds its searches. */
  searches(): RetrievalTrace[] {
    const searches: RetrievalTrace[] = []
    this.#noted.trace.retrieval = searches
    return searches
  }

  assembled(passages: readonly Passage[], context: ContextTrace | undefined): void {
    const { trace } = this.#noted
    trace.passages = passages.slice(0, PASSAGES_MAX).map(shownPassage)
    trace.context = context
  }

  classified(made: SemanticTrace): void {
    const { response, trace } = this.#noted
    trace.semantic = made
    const { side, score, classifier } = made
    response.headers.push('x-gw-semantic', `${side}; score=${score.toFixed(3)}; by=${classifier}`)
  }

  keeps(texts: KeptTexts): void {
    this.#noted.trace[TEXTS] = texts
  }

  /** Records who counted the tokens that the answer reports. */
  countedTokens(by: 'exact' | 'estimated' | 'upstream'): void {
    this.#noted.response.headers.push('x-gw-token-count', by)
  }

  /** Nano-dollars that caches have saved; undefined if no cache was involved. */
  saved(nanos: number | undefined): void {
    if (nanos === undefined) return
    const usd = `${nanos < 0 ? '-' : ''}${usdText(Math.abs(nanos))}`
    this.#noted.response.headers.push('x-gw-cache-saved-usd', usd)
  }

  /** The answer is whole, so its cost is known before its head is sent. */
  costs({ usd }: AnswerCost): void {
    if (usd !== undefined) this.#noted.response.headers.push('x-gw-cost-usd', usd)
  }

  passedOver(upstreams: readonly PassedOver[]): void {
    this.#noted.trace.passed_over = upstreams
  }

  waited(wait: WaitTrace): void {
    const { trace } = this.#noted
    trace.waits = [...(trace.waits ?? []), wait].slice(0, WAITS_MAX)
  }

  began(attempt: AttemptTrace): void {
    const { response, trace } = this.#noted
    response.upstream = attempt.upstream
    response.upstreamRequestId = undefined
    response.dropped = attempt.dropped
    // The trace is kept: a list that grows by `push` has room for 17.
    trace.attempts = trace.attempts.concat(attempt)
  }

  ended(attempt: AttemptTrace): void {
    const { response, trace } = this.#noted
    response.upstreamRequestId = attempt.upstream_request_id
    if (trace.stream && attempt.outcome === 'ok') trace.ttft_ms = attempt.ended_ms
  }

  /** `added`: the tokens of passages, which the earlier count does not include. */
  charged(charges: readonly Charge[], added: number): void {
    noteCharges(this.#noted.trace, charges, added)
  }

  /** Notes the facts of a refusal. */
  learnt({ model, route, limitHeaders, limit, sunset }: Learnt): void {
    const { trace, response, gateway } = this.#noted
    if (model !== undefined) trace.model = model
    if (route !== undefined) response.route = route
    if (limitHeaders !== undefined) response.limits = limitHeaders
    if (limit !== undefined) gateway.metrics.rejected.at(trace.tenant, limit).value++
    if (sunset !== undefined) this.#ends(sunset)
  }

  /** The request names a deprecated route or alias. */
  #ends({ name, headers }: NonNullable<Learnt['sunset']>): void {
    const { trace, response, gateway } = this.#noted
    trace.deprecated = name
    response.headers.push(...headers)
    gateway.metrics.deprecated.at(name, trace.tenant).value++
  }

  refused({ code, cause, message, details: { counted } }: GatewayError): void {
    const { trace } = this.#noted
    trace.code = code
    trace.message = typeof cause === 'string' ? cause : message
    if (counted === undefined) return
    trace.counted_tokens = counted.tokens
    trace.counted_exact = counted.exact
    trace.counted_by = counted.exact ? 'exact' : 'estimate'
  }

  /** Returns the whole trace. */
  finished(): Trace {
    const { call, trace, response, gateway } = this.#noted
    trace.duration_ms = gateway.clock.now() - call.receivedAt
    trace.status = response.status
    trace.route = response.route
    trace.upstream = response.upstream
    return trace
  }
}
