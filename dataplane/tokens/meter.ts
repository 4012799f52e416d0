/** The usage of one request, by attempt. The admission owns it, attempts and the relay fill it, and settle reads it. */

import type { ModelRequest, Usage } from '../wire/inner-form.ts'
import { isGenerated } from './count.ts'
import { MeteredAttempt } from './metered-attempt.ts'
import { promptWeight } from './prompt-weight.ts'
import type { Worths } from './worth.ts'

/** Bytes of a whole answer for about one token, if nothing better is known. */
const BYTES_PER_TOKEN = 4
/** Most tokens of a request. A larger count is the upstream's mistake, and must not spend a tenant's budget. */
const TOKENS_MAX = 100_000_000

/** The usage of one attempt that cost something. */
export interface AttemptCharge {
  readonly attempt: MeteredAttempt
  readonly usage: Usage
}

export class Meter {
  readonly attempts: MeteredAttempt[] = []
  /** Tokens that retrieval added to the prompt, for an upstream that reports no usage. */
  addedTokens = 0
  /** The tokens of the prompt as an upstream counts them; undefined if nothing was counted for that upstream. */
  counted: ((upstream: string) => number | undefined) | undefined
  #promptWeight: number | undefined
  #final: readonly AttemptCharge[] | undefined

  /** `worths`: the route's corrections. */
  begin(upstream: string, model: string, worths?: Worths): MeteredAttempt {
    const worth = worths?.of(upstream, model)
    const attempt = new MeteredAttempt(this.attempts.length, upstream, model, worth)
    this.attempts.push(attempt)
    return attempt
  }

  /** Whether an attempt is charged for its prompt although no upstream reported it. */
  lacksPrompt(request: ModelRequest): boolean {
    if (this.attempts.every(hasPrompt)) return false
    return this.charges(request).some(({ attempt }) => !hasPrompt(attempt))
  }

  /** The usage of each attempt that cost something: reported, or estimated from the sent and received text. */
  charges(request: ModelRequest): readonly AttemptCharge[] {
    if (this.#final !== undefined) return this.#final
    const charges: AttemptCharge[] = []
    for (const attempt of this.attempts) {
      const usage = this.#usageOf(attempt, request)
      if (usage !== undefined) charges.push({ attempt, usage })
    }
    return charges
  }

  /** Fixes the charges, so that the answer, the budgets, the trace and the log agree. */
  close(request: ModelRequest): void {
    this.#final = this.charges(request)
  }

  /** Improves the route's estimates by the reported usage. */
  learn(request: ModelRequest): void {
    for (const attempt of this.attempts) {
      const { usage, worth, weight } = attempt
      if (usage === undefined || usage.lacks !== undefined || !isCredible(usage)) continue
      if (usage.estimated || !attempt.isCurrent) continue
      worth.noteCaches(usage)
      // Reasoning that clients do not get has no weight.
      if (usage.reasoningTokens === 0) worth.noteAnswer(weight, usage.completionTokens)
      worth.notePace(attempt.tookMs, usage.completionTokens)
      if (worth.wantsPrompt)
        worth.notePrompt(this.#weightOf(request), usage.promptTokens - this.addedTokens)
    }
  }

  #usageOf(attempt: MeteredAttempt, request: ModelRequest): Usage | undefined {
    const reported = attempt.usage
    const isHeard = attempt.contentEvents + attempt.answerBytes > 0
    if (reported === undefined || !isCredible(reported))
      return isHeard || attempt.hasCost ? this.#estimateOf(attempt, request) : undefined
    const { lacks } = reported
    if (lacks !== undefined) {
      if (!isHeard && !attempt.hasCost) return reported
      const estimate = this.#estimateOf(attempt, request)
      return { ...reported, [lacks]: estimate[lacks], estimated: true }
    }
    // Some upstreams report the prompt's tokens only at the end.
    const isWhole = attempt.hasEnded || reported.promptTokens > 0
    return attempt.isCurrent && isWhole ? reported : this.#continued(reported, attempt, request)
  }

  /**
   * Some upstreams report the prompt first and the answer at its end. A client that disconnects earlier has received
   * text.
   */
  #continued(reported: Usage, attempt: MeteredAttempt, request: ModelRequest): Usage {
    const { contentEvents, countedEvents, weight, countedWeight } = attempt
    const all = answerOf(attempt, contentEvents, weight)
    const rest = answerOf(attempt, contentEvents - countedEvents, weight - countedWeight)
    const completionTokens =
      countedEvents === 0
        ? Math.max(reported.completionTokens, all)
        : reported.completionTokens + rest
    const prompt = reported.promptTokens === 0 ? this.#promptOf(attempt, request) : {}
    return { ...reported, ...prompt, completionTokens, estimated: true }
  }

  #estimateOf(attempt: MeteredAttempt, request: ModelRequest): Usage {
    const { contentEvents, weight, answerBytes, waitedMs, worth } = attempt
    const answer = answerOf(attempt, contentEvents, weight)
    const unseen = Math.min(worth.madeIn(waitedMs), request.maxTokens ?? TOKENS_MAX)
    const whole = Math.ceil(answerBytes / BYTES_PER_TOKEN) + unseen
    return {
      ...this.#promptOf(attempt, request),
      completionTokens: isGenerated(request.operation) ? answer + whole : 0,
      reasoningTokens: 0,
      estimated: true,
    }
  }

  /** The best known number: the upstream's count, else the weight. */
  #promptOf({ upstream, worth }: MeteredAttempt, request: ModelRequest) {
    const counted = this.counted?.(upstream)
    if (counted !== undefined) return worth.inCaches(counted + this.addedTokens)
    return worth.promptOf(this.#weightOf(request) + this.addedTokens)
  }

  /** Computed once. Each renewal of the lease and the end of the request use it. */
  #weightOf(request: ModelRequest): number {
    this.#promptWeight ??= promptWeight(request)
    return this.#promptWeight
  }
}

/** An event has at least one token, and may have many. */
function answerOf({ worth }: MeteredAttempt, events: number, weight: number): number {
  return Math.max(events, worth.answerOf(weight))
}

function hasPrompt({ usage }: MeteredAttempt): boolean {
  return (
    usage !== undefined &&
    isCredible(usage) &&
    usage.lacks !== 'promptTokens' &&
    usage.promptTokens > 0
  )
}

function isCredible({ promptTokens, completionTokens, searches = 0 }: Usage): boolean {
  return Math.max(promptTokens, completionTokens, searches) <= TOKENS_MAX
}
