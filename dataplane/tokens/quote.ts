/** How many tokens a request may take on a route, before it runs: its prompt and the most it may be answered with. */

import { GatewayError } from '../base/errors.ts'
import { answerReserved } from '../budgets/reserve.ts'
import type { Route } from '../config/snapshot.ts'
import type { EmbeddingsRequest, ModelRequest } from '../inner-form.ts'
import type { Lane, Target } from '../upstream/target/targets.ts'
import { estimatePromptTokens } from './count.ts'

export interface Quote {
  /** About how many tokens the messages have. */
  readonly prompt: number
  /** The most that the answer may have, all choices together; an answer without a limit may outgrow it. */
  readonly answer: number
  /** The route's limit, to be sent upstream because the client gave none. */
  readonly injected: number | undefined
  /** The tokens that the context window must hold for this request. */
  readonly needed: number
  /** Every window is larger than the request has bytes: nothing was counted. */
  readonly fitsAll: boolean
}

/**
 * `budgeted` is the route where a budget of the tenant needs an upper bound of the answer. Throws
 * ERR_GW_CONTEXT_OVERFLOW when the largest window among the route's upstreams is too small.
 */
export function quoteOf(request: ModelRequest, lane: Lane, budgeted: Route | undefined): Quote {
  const { maxTokens: own, choices } = request
  // Vectors are no tokens.
  const isAnswered = request.operation === 'chat'
  const written = own === undefined && isAnswered ? budgeted?.section.max_tokens_default : undefined
  // A token has at least one byte: most prompts fit every window without being counted.
  const fitsAll = request.bytes.length + (own ?? written ?? 0) <= narrowestWindow(lane, 0)
  if (fitsAll && budgeted === undefined)
    return { prompt: 0, answer: (own ?? 0) * choices, injected: undefined, needed: 0, fitsAll }
  const prompt = estimatePromptTokens(request)
  // The route's limit must not send a request past an upstream that has room for its prompt.
  const left = Math.max(1, narrowestWindow(lane, prompt) - prompt)
  const injected = written === undefined ? undefined : Math.min(written, left)
  const least =
    readAtOnce(request, prompt) + (own ?? (isAnswered && budgeted !== undefined ? 1 : 0))
  if (!fitsAll) {
    const largest = largestWindow(lane)
    if (least > largest) throw overflow(largest, prompt, own ?? 0, request)
  }
  const needed = injected === undefined ? least : prompt + injected
  // It is not sent upstream: a limit that the client did not ask for would cut the answers of models that reason.
  const isUnbounded = budgeted !== undefined && isAnswered
  const answer = own ?? injected ?? (isUnbounded ? answerReserved(largestWindow(lane)) : 0)
  return { prompt, answer: answer * choices, injected, needed, fitsAll }
}

/** The tokens of the prompt that a window has to hold: each input of embeddings is read by itself. */
export function readAtOnce(request: ModelRequest, prompt: number): number {
  return request.operation === 'embeddings' ? request.inputTokens.longest : prompt
}

function largestWindow({ targets }: Lane): number {
  return Math.max(0, ...targets.map(windowOf))
}

/** The smallest window above `tokens`; Infinity without one. */
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

function overflow(
  window: number,
  prompt: number,
  answer: number,
  request: ModelRequest,
): GatewayError {
  if (request.operation === 'embeddings') return inputOverflow(window, request)
  const asked = `about ${prompt} tokens of messages and ${answer} of max_tokens were asked for`
  const advice = 'shorten the messages or lower max_tokens'
  const message = `This route's largest context window is ${window} tokens, but ${asked}; ${advice}.`
  return new GatewayError('ERR_GW_CONTEXT_OVERFLOW', message, {
    param: 'messages',
    facts: { prompt_tokens: prompt, max_tokens: answer, context_window: window },
  })
}

function inputOverflow(window: number, { body, inputTokens }: EmbeddingsRequest): GatewayError {
  const { longest, longestAt } = inputTokens
  const isAlone = typeof body.input === 'string' || typeof body.input[0] === 'number'
  const param = isAlone ? 'input' : `input[${longestAt}]`
  const message = `"${param}" has about ${longest} tokens, but this route's largest context window is ${window}; shorten it.`
  return new GatewayError('ERR_GW_CONTEXT_OVERFLOW', message, {
    param,
    facts: { prompt_tokens: longest, context_window: window },
  })
}
