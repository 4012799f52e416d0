/** May it run now? Rate, concurrency, context and budgets, in one decision; and what an admitted request holds. */
import type { Caller, ChatRequest } from '../call.ts'
import type { Route } from '../config/snapshot.ts'
import type { Visit } from '../gateway.ts'
import { type Decision, decide, type Limited, refuseKnown } from '../limits/decision.ts'
import type { Lease } from '../limits/leases.ts'
import { Meter } from '../meter.ts'
import type { Cell } from '../telemetry/series.ts'
import { quoteOf, windowOf } from '../tokens/quote.ts'
import type { Lane, Target } from '../upstream/target/targets.ts'

export interface Admission {
  readonly caller: Caller
  /** The route that serves: the downgrade route where the budget is spent. */
  readonly route: Route
  readonly lane: Lane
  readonly meter: Meter
  /** Monotonic moment at which the request's time is up, attempts and answer included. */
  readonly totalAt: number
  /** The route's limit of tokens, sent to the upstream where the client gave none and a budget applies. */
  readonly maxTokens: number | undefined
  /** Whether prompt and answer fit the target's context window. */
  readonly fits: (target: Target) => boolean
  /** Whether it leaves the last places of an upstream to others: its tenant's priority is low. */
  readonly yields: boolean
  /** What it holds in the store. */
  readonly lease: Lease
  /** Counted down by settle: the series may have been forgotten and made anew by a reload. */
  readonly inFlight: Cell
}

/** Throws what the store would throw for any request of the tenant, as far as this process knows. */
export function admitsNone(caller: Caller, visit: Visit): void {
  refuseKnown(caller, visit)
}

/** Throws ERR_GW_CONTEXT_OVERFLOW, ERR_GW_RATE_LIMIT_LOCAL, ERR_GW_BUDGET_EXCEEDED; then nothing is held. */
export function admit(
  request: ChatRequest,
  caller: Caller,
  route: Route,
  visit: Visit,
): Admission | Promise<Admission> {
  const { active, trace } = visit
  trace.stream = request.stream
  const meter = new Meter()
  const { limits } = active.snapshot
  const rules = limits.rules.of(caller.tenant)
  const quote = quoteOf(
    request,
    laneOf(route, visit),
    rules.budget !== undefined ? route : undefined,
  )
  const limited: Limited = { request, caller, route, quote, rules, limits, meter }
  const decision = decide(limited, visit)
  if (decision instanceof Promise) return decision.then((made) => admission(made, limited, visit))
  return admission(decision, limited, visit)
}

function admission(decision: Decision, limited: Limited, visit: Visit): Admission {
  const { gateway, trace, response, active } = visit
  const { request, caller, meter } = limited
  const { route, quote, lease } = decision
  response.route = route.name
  trace.strategy = route.strategy.name
  const inFlight = gateway.metrics.inFlight.at(route.name)
  inFlight.value++
  return {
    caller,
    route,
    lane: laneOf(route, visit),
    meter,
    totalAt: totalOf(request, route, visit),
    maxTokens: quote.injected,
    fits: quote.fitsAll ? fitsAnywhere : (target) => quote.needed <= windowOf(target),
    yields: active.snapshot.limits.rules.yields(caller.tenant),
    lease,
    inFlight,
  }
}

/** The time in which the body came counts; of an answer that is not a stream the silence begins behind the body. */
function totalOf({ stream }: ChatRequest, route: Route, { call, gateway }: Visit): number {
  const total = call.receivedAt + route.timeoutMs
  return stream ? total : Math.min(total, gateway.clock.now() + route.silenceMs)
}

function fitsAnywhere(): boolean {
  return true
}

function laneOf(route: Route, { active }: Visit): Lane {
  return active.lanes.get(route.name) ?? { targets: [], turn: 0 }
}
