/** The usage of one request, attempt by attempt; owned by the admission, fed by attempts and the relay, read by settle. */
import type { ModelRequest, Usage } from './inner-form.ts'
import { isGenerated } from './tokens/count.ts'

/** Bytes of a prompt, or of a whole answer, that make about one token, where nothing better is known. */
const BYTES_PER_TOKEN = 4
/** No request has as many tokens: a larger count is a fault of the upstream, and must not spend a tenant's budget. */
const TOKENS_MAX = 100_000_000

export interface MeteredAttempt {
  /** Its place among the attempts of the request. */
  readonly index: number
  readonly upstream: string
  /** The model whose price applies. */
  readonly model: string
  /** As the upstream reported it; later reports replace earlier ones. */
  usage: Usage | undefined
  /** Content events relayed: about one token each, for a stream that never reported its usage. */
  contentEvents: number
  /** The bytes of a whole answer, for one that never reported its usage. */
  answerBytes: number
  /** As many of the content events are in the usage that it has reported; all of them once a stream has ended. */
  countedEvents: number
}

export class Meter {
  readonly attempts: MeteredAttempt[] = []
  /** Tokens that retrieval has put into the prompt, for an upstream that does not report its usage. */
  addedTokens = 0

  begin(upstream: string, model: string): MeteredAttempt {
    const attempt: MeteredAttempt = {
      index: this.attempts.length,
      upstream,
      model,
      usage: undefined,
      contentEvents: 0,
      answerBytes: 0,
      countedEvents: Number.POSITIVE_INFINITY,
    }
    this.attempts.push(attempt)
    return attempt
  }

  /** Usage of each attempt that cost something: reported, or estimated from what was seen. */
  charges(request: ModelRequest): { attempt: MeteredAttempt; usage: Usage }[] {
    const charges = []
    for (const attempt of this.attempts) {
      const reported = reportedBy(attempt)
      const usage =
        reported !== undefined && reported.lacks === undefined
          ? reported
          : completed(reported, estimateOf(attempt, promptOf(request) + this.addedTokens, request))
      if (usage !== undefined) charges.push({ attempt, usage })
    }
    return charges
  }
}

/** Some upstreams report the prompt first and the answer at its end: a client that leaves before has had its words. */
function reportedBy({ usage, countedEvents, contentEvents }: MeteredAttempt): Usage | undefined {
  if (usage === undefined || !isCredible(usage)) return undefined
  if (contentEvents <= countedEvents) return usage
  const completionTokens = Math.max(usage.completionTokens, contentEvents)
  return { ...usage, completionTokens, estimated: true }
}

function isCredible({ promptTokens, completionTokens, searches = 0 }: Usage): boolean {
  return Math.max(promptTokens, completionTokens, searches) <= TOKENS_MAX
}

function completed(reported: Usage | undefined, estimate: Usage | undefined): Usage | undefined {
  if (reported?.lacks === undefined || estimate === undefined) return reported ?? estimate
  return { ...reported, [reported.lacks]: estimate[reported.lacks], estimated: true }
}

function estimateOf(
  { contentEvents, answerBytes }: MeteredAttempt,
  promptTokens: number,
  { operation }: ModelRequest,
): Usage | undefined {
  if (contentEvents + answerBytes === 0) return undefined
  const answered = contentEvents + Math.ceil(answerBytes / BYTES_PER_TOKEN)
  return {
    promptTokens,
    completionTokens: isGenerated(operation) ? answered : 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  }
}

function promptOf(request: ModelRequest): number {
  if (request.operation !== 'chat') return request.inputTokens.sum
  const prompt = Math.ceil(request.bytes.length / BYTES_PER_TOKEN)
  // Pictures are megabytes and thousands of tokens.
  return Math.min(prompt, request.promptTokensMax)
}
