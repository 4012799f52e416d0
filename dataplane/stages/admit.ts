/** May it run now? What an admitted request holds until it is settled. */
import type { Caller, ChatRequest } from '../call.ts'
import type { Route } from '../config/snapshot.ts'
import { GatewayError } from '../errors.ts'
import type { Visit } from '../gateway.ts'
import { Meter } from '../meter.ts'
import { estimatePromptTokens } from '../tokens/count.ts'
import type { Lane, Target } from '../upstream/targets.ts'

export interface Admission {
  readonly caller: Caller
  readonly route: Route
  readonly lane: Lane
  readonly meter: Meter
  /** Monotonic moment at which the request's time is up, attempts and answer included. */
  readonly totalAt: number
  /** Sent to the upstream as its limit of tokens when the client gave none. */
  readonly maxTokens: number | undefined
  /** Whether prompt and answer fit the target's context window. */
  readonly fits: (target: Target) => boolean
}

/** Throws ERR_GW_CONTEXT_OVERFLOW. */
export function admit(request: ChatRequest, caller: Caller, route: Route, visit: Visit): Admission {
  const { gateway, active, trace } = visit
  trace.strategy = route.strategy.name
  trace.stream = request.stream
  const lane = active.lanes.get(route.name) ?? { targets: [], turn: 0 }
  const maxTokens = request.maxTokens === undefined ? route.section.max_tokens_default : undefined
  const needed = neededTokens(request, lane, maxTokens)
  gateway.metrics.inFlight.at(route.name).value++
  return {
    caller,
    route,
    lane,
    meter: new Meter(),
    totalAt: gateway.clock.now() + route.timeoutMs,
    maxTokens,
    fits: (target) => needed <= windowOf(target),
  }
}

/** Prompt and answer together; checked against the largest window among the route's upstreams. */
function neededTokens(request: ChatRequest, lane: Lane, maxTokens: number | undefined): number {
  const answer = request.maxTokens ?? maxTokens ?? 0
  // A token has at least one byte: most prompts fit every window without being counted.
  const most = request.bytes.length + answer
  if (lane.targets.every((target) => most <= windowOf(target))) return 0
  const prompt = estimatePromptTokens(request)
  const largest = Math.max(...lane.targets.map(windowOf))
  if (prompt + answer <= largest) return prompt + answer
  throw new GatewayError('ERR_GW_CONTEXT_OVERFLOW', overflowMessage(largest, prompt, answer), {
    param: 'messages',
    facts: { prompt_tokens: prompt, max_tokens: answer, context_window: largest },
  })
}

function windowOf(target: Target): number {
  return target.contextWindow ?? Number.POSITIVE_INFINITY
}

function overflowMessage(window: number, prompt: number, answer: number): string {
  const asked = `about ${prompt} tokens of messages and ${answer} of max_tokens were asked for`
  return `This route's largest context window is ${window} tokens, but ${asked}; shorten the messages or lower max_tokens.`
}
