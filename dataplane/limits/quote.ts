/** The most tokens that a request may use on a route, before it runs: its prompt and its longest answer. */

import { answerReserved } from '../accounts/reserve.ts'
import { GatewayError } from '../base/errors.ts'
import type { Route } from '../config/snapshot.ts'
import { limitAt } from '../config/upstreams/parameters.ts'
import { isGenerated } from '../tokens/count.ts'
import { type CountedBy, PromptTokens } from '../tokens/counter.ts'
import { inputMember } from '../tokens/input-member.ts'
import { limitWords } from '../tokens/overflow-words.ts'
import type { Lane, Target } from '../upstream/live/targets.ts'
import type { ChatRequest, ModelRequest } from '../wire/inner-form.ts'

export interface Quote {
  /** Tokens of the messages at the upstream that counts most; 0 if nothing was counted. */
  readonly prompt: number
  /** The largest estimate among the upstreams; undefined if none of them estimates. */
  readonly estimated: number | undefined
  /** Undefined if nothing was counted and no bound was needed. */
  readonly countedBy: CountedBy | undefined
  /** Most tokens of the answer, all choices together; an answer without a limit may outgrow it. */
  readonly answer: number
  /** The route's limit, which the upstream gets because the client gave none. */
  readonly injected: number | undefined
  /** Whether every context window has room, by the bytes of the request or by the upper bounds of its tokens. */
  readonly fitsAll: boolean
  /** Whether the request fits the upstream's context window, as the upstream counts tokens. */
  readonly fits: (target: Target) => boolean
  /** The counts; undefined if nothing was counted. */
  readonly tokens: PromptTokens | undefined
}

/** The facts from which a quote is computed. */
interface QuotedRequest {
  readonly request: ModelRequest
  readonly lane: Lane
  /** The route, if a budget of the tenant needs an upper bound of the answer. */
  readonly budgeted: Route | undefined
  readonly tokens: PromptTokens
  readonly fitsAll: boolean
  /** The route's limit of tokens, if the client gives none. */
  readonly written: number | undefined
  /** The least tokens that an answer needs. */
  readonly least: number
}

/**
 * `budgeted`: the route, if a budget of the tenant needs an upper bound of the answer. `known`: earlier counts. A
 * prompt is counted only if its upper bound does not fit a window. Returns a promise if a counter needs time. Throws
 * ERR_GW_CONTEXT_OVERFLOW if the largest window among the route's upstreams is too small.
 */
export function quoteOf(
  request: ModelRequest,
  lane: Lane,
  budgeted: Route | undefined,
  known?: PromptTokens,
): Quote | Promise<Quote> {
  const own = limitOf(request, lane)
  const isAnswered = isGenerated(request.operation)
  const written = own === undefined && isAnswered ? budgeted?.section.max_tokens_default : undefined
  // A token has at least one byte, so most prompts fit every window without a count.
  const fitsAll = request.bytes.length + (own ?? written ?? 0) <= narrowestWindow(lane)
  if (fitsAll && budgeted === undefined) {
    const answer = (own ?? 0) * answersOf(request)
    return { ...UNCOUNTED, answer, injected: undefined }
  }
  const least = own ?? (budgeted !== undefined && isAnswered ? 1 : 0)
  const tokens = known ?? new PromptTokens(request)
  const asked = { request, lane, budgeted, tokens, fitsAll, written, least }
  const counting = tokens.bound(lane.targets)
  return counting === undefined ? bounded(asked) : counting.then(() => bounded(asked))
}

/**
 * The most tokens that one answer may have: the client's limit, or the largest limit of the upstreams if each sets one.
 * undefined: an answer may have any number.
 */
function limitOf(request: ModelRequest, { targets }: Lane): number | undefined {
  const { maxTokens } = request
  if (!targets.some(({ settings }) => settings.parameters !== undefined)) return maxTokens
  const limits = targets.map((target) => limitFor(target, request))
  return limits.includes(undefined) ? undefined : largestNumber(limits)
}

/** The limit that one upstream is asked for. */
export function limitFor({ settings }: Target, request: ModelRequest): number | undefined {
  const { maxTokens, operation, below } = request
  const isSet = (operation === 'chat' || operation === 'completions') && below === undefined
  return isSet ? limitAt(settings, maxTokens) : maxTokens
}

/** The largest limit among the upstreams; 0 if none has one. */
function mostSet(request: ModelRequest, targets: readonly Target[]): number {
  return largestNumber(targets.map((target) => limitFor(target, request)))
}

function largestNumber(limits: readonly (number | undefined)[]): number {
  return Math.max(0, ...limits.filter((limit) => limit !== undefined))
}

const UNCOUNTED = {
  prompt: 0,
  estimated: undefined,
  countedBy: undefined,
  fitsAll: true,
  fits: () => true,
  tokens: undefined,
}

/** If every window has room for the upper bounds, counts are not needed. */
function bounded(asked: QuotedRequest): Quote | Promise<Quote> {
  const { request, tokens, written, least } = asked
  const { targets } = asked.lane
  if (!tokens.hasBounds(targets)) return quoted(asked)
  const hasRoom = (target: Target) =>
    readAtOnce(request, tokens.at(target)) + (limitFor(target, request) ?? written ?? least) <=
    windowOf(target)
  if (targets.every(hasRoom)) return quoted({ ...asked, fitsAll: true })
  const counting = tokens.count(targets)
  return counting === undefined ? quoted(asked) : counting.then(() => quoted(asked))
}

function quoted({
  request,
  lane,
  budgeted,
  tokens,
  fitsAll,
  written,
  least,
}: QuotedRequest): Quote {
  const own = limitOf(request, lane)
  const { targets } = lane
  const isUnbounded = budgeted !== undefined && isGenerated(request.operation)
  // The route's limit must not exclude an upstream that has room for the prompt.
  const injected = written === undefined ? undefined : Math.min(written, leastRoom(targets, tokens))
  const hasRoom = (target: Target) =>
    readAtOnce(request, tokens.at(target)) + (limitFor(target, request) ?? least) <=
    windowOf(target)
  // A route without upstreams has no window that could be too small.
  if (!fitsAll && !targets.some(hasRoom)) {
    const largest = largestOf(targets)
    throw overflow(request, largest, tokens, own ?? 0)
  }
  // This limit is not sent upstream, because it would cut the answers of reasoning models.
  const reserved = isUnbounded ? answerReserved(largestWindow(lane)) : 0
  return {
    prompt: tokens.most(targets),
    estimated: tokens.mostEstimated(targets),
    countedBy: countedBy(targets, tokens),
    answer: (own ?? Math.max(injected ?? reserved, mostSet(request, targets))) * answersOf(request),
    injected,
    fitsAll,
    tokens,
    fits: (target) =>
      readAtOnce(request, tokens.at(target)) + (limitFor(target, request) ?? injected ?? least) <=
      windowOf(target),
  }
}

function countedBy(targets: readonly Target[], tokens: PromptTokens): CountedBy {
  if (tokens.hasBounds(targets)) return 'upper bound'
  return tokens.areExact(targets) ? 'exact' : 'estimate'
}

/** The least room for an answer among the upstreams that have room for the prompt; at least one token. */
function leastRoom(targets: readonly Target[], tokens: PromptTokens): number {
  let least = Number.POSITIVE_INFINITY
  for (const target of targets) {
    const room = windowOf(target) - tokens.at(target)
    if (room > 0 && room < least) least = room
  }
  return least
}

/** Returns the first of several targets with the same window. */
function largestOf(targets: readonly Target[]): Target {
  return targets.reduce((largest, one) => (windowOf(one) > windowOf(largest) ? one : largest))
}

/** Number of generated answers, which for legacy completions may exceed the requested number. */
function answersOf(request: ModelRequest): number {
  return request.operation === 'completions' ? request.generated : request.choices
}

/** The tokens that one window has to hold: the model reads each of several inputs separately. */
export function readAtOnce(request: ModelRequest, prompt: number): number {
  return request.operation === 'chat' ? prompt : request.inputTokens.longest
}

function largestWindow({ targets }: Lane): number {
  return Math.max(0, ...targets.map(windowOf))
}

/** Infinity if the route has no window. */
function narrowestWindow({ targets }: Lane): number {
  let narrowest = Number.POSITIVE_INFINITY
  for (const target of targets) narrowest = Math.min(narrowest, windowOf(target))
  return narrowest
}

export function windowOf(target: Target): number {
  return target.contextWindow ?? Number.POSITIVE_INFINITY
}

function overflow(
  request: ModelRequest,
  largest: Target,
  tokens: PromptTokens,
  answer: number,
): GatewayError {
  const window = windowOf(largest)
  if (request.operation !== 'chat') return inputOverflow(window, answer, request)
  const prompt = tokens.at(largest)
  const exact = tokens.areExact([largest])
  const counted = exact ? `${prompt} tokens` : `about ${prompt} tokens`
  const param = inputMember(request)
  const asked = `${counted} of ${param} and ${answer} of max_tokens were asked for`
  const advice = 'Please reduce the length of the messages or lower max_tokens.'
  const message = `${limitWords(window)}, but your prompt is too long: ${asked}. ${advice}`
  return new GatewayError('ERR_GW_CONTEXT_OVERFLOW', message, {
    param,
    facts: { prompt_tokens: prompt, max_tokens: answer, context_window: window },
    counted: { tokens: prompt, exact },
  })
}

function inputOverflow(
  window: number,
  answer: number,
  request: Exclude<ModelRequest, ChatRequest>,
): GatewayError {
  const { longest, longestAt } = request.inputTokens
  const name = inputMember(request)
  const input = inputOf(request)
  const isAlone = typeof input === 'string' || typeof input[0] === 'number'
  const param = isAlone ? name : `${name}[${longestAt}]`
  const asked = answer === 0 ? '' : ` and ${answer} of max_tokens were asked for`
  const found = `"${param}" has about ${longest} tokens${asked}, so your prompt is too long`
  const advice = 'Please reduce the length of the messages or texts.'
  const message = `${limitWords(window)}, but ${found}. ${advice}`
  return new GatewayError('ERR_GW_CONTEXT_OVERFLOW', message, {
    param,
    facts: { prompt_tokens: longest, max_tokens: answer, context_window: window },
    counted: { tokens: longest, exact: false },
  })
}

function inputOf(request: Exclude<ModelRequest, ChatRequest>): string | readonly unknown[] {
  if (request.operation === 'embeddings') return request.body.input
  if (request.operation === 'rerank') return request.body.documents
  return request.operation === 'completions' ? (request.body.prompt ?? '') : ''
}
