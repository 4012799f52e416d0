/** May it run now? What an admitted request holds until it is settled. */
import type { Caller, ChatRequest } from '../call.ts'
import type { Route } from '../config/snapshot.ts'
import type { Visit } from '../gateway.ts'
import { Meter } from '../meter.ts'
import type { Target } from '../upstream/targets.ts'

export interface Admission {
  readonly caller: Caller
  readonly route: Route
  readonly targets: readonly Target[]
  readonly meter: Meter
  /** Monotonic moment at which the request's time is up, attempts and answer included. */
  readonly totalAt: number
  /** Sent to the upstream as its limit of tokens when the client gave none. */
  readonly maxTokens: number | undefined
}

export function admit(request: ChatRequest, caller: Caller, route: Route, visit: Visit): Admission {
  const { gateway, active, trace } = visit
  trace.strategy = route.strategy.name
  trace.stream = request.stream
  gateway.metrics.inFlight.at(route.name).value++
  return {
    caller,
    route,
    targets: active.targets.get(route.name) ?? [],
    meter: new Meter(),
    totalAt: gateway.clock.now() + route.timeoutMs,
    maxTokens: request.maxTokens === undefined ? route.section.max_tokens_default : undefined,
  }
}
