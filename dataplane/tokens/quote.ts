/** How many tokens a request may take on a route, before it runs: its prompt and the most it may be answered with. */
import type { ChatRequest } from '../call.ts'
import type { Route } from '../config/snapshot.ts'
import { GatewayError } from '../errors.ts'
import type { Lane, Target } from '../upstream/targets.ts'
import { estimatePromptTokens } from './count.ts'

/** The limit given to an answer where neither the client nor the route names one and a budget needs one. */
const ANSWER_TOKENS_DEFAULT = 4096

export interface Quote {
  /** About how many tokens the messages have. */
  readonly prompt: number
  /** The most the answer may have, all choices together. */
  readonly answer: number
  /** Answers that were asked for; each is bounded on its own and has the whole window. */
  readonly choices: number
  /** The client gave no limit, so this one is to be sent upstream. */
  readonly injected: number | undefined
  /** Every window is larger than the request has bytes: nothing was counted. */
  readonly fitsAll: boolean
}

/**
 * `bounded` is the route whose default bounds the answer, where a budget needs a bound. Throws
 * ERR_GW_CONTEXT_OVERFLOW when the largest window among the route's upstreams is too small.
 */
export function quoteOf(request: ChatRequest, lane: Lane, bounded: Route | undefined): Quote {
  const own = request.maxTokens
  const answer =
    own ??
    (bounded === undefined ? 0 : (bounded.section.max_tokens_default ?? ANSWER_TOKENS_DEFAULT))
  const choices = typeof request.body.n === 'number' ? request.body.n : 1
  // A token has at least one byte: most prompts fit every window without being counted.
  const most = request.bytes.length + answer
  const fitsAll = most <= narrowestWindow(lane, 0)
  if (fitsAll && bounded === undefined)
    return { prompt: 0, answer: answer * choices, choices, injected: undefined, fitsAll }
  const prompt = estimatePromptTokens(request)
  // A limit that nobody asked for must not send a request past an upstream that has room for its prompt.
  const narrowest = narrowestWindow(lane, prompt)
  const left = Math.max(1, narrowest - prompt)
  const injected = own === undefined && bounded !== undefined ? Math.min(answer, left) : undefined
  const least = own ?? (bounded === undefined ? 0 : 1)
  if (!fitsAll) {
    const largest = Math.max(0, ...lane.targets.map(windowOf))
    if (prompt + least > largest) throw overflow(largest, prompt, own ?? 0)
  }
  return { prompt, answer: (injected ?? answer) * choices, choices, injected, fitsAll }
}

/** The smallest window above `tokens`; Infinity when there is none. */
function narrowestWindow({ targets }: Lane, tokens: number): number {
  let narrowest = Number.POSITIVE_INFINITY
  for (const target of targets) {
    const window = windowOf(target)
    if (window > tokens && window < narrowest) narrowest = window
  }
  return narrowest
}

export function windowOf(target: Target): number {
  return target.contextWindow ?? Number.POSITIVE_INFINITY
}

function overflow(window: number, prompt: number, answer: number): GatewayError {
  const asked = `about ${prompt} tokens of messages and ${answer} of max_tokens were asked for`
  const advice = 'shorten the messages or lower max_tokens'
  const message = `This route's largest context window is ${window} tokens, but ${asked}; ${advice}.`
  return new GatewayError('ERR_GW_CONTEXT_OVERFLOW', message, {
    param: 'messages',
    facts: { prompt_tokens: prompt, max_tokens: answer, context_window: window },
  })
}
