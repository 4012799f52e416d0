/** An answer's id, model and finish reasons, for traces, and the tokens that it used. */

/** Upstreams may send ids of any length, and traces store them. */
const TEXT_MAX = 256
const CHOICES_MAX = 128

/** A stream adds them while it passes. */
export class AnswerFacts {
  id: string | undefined = undefined
  model: string | undefined = undefined
  /** Finish reason of each choice; null if the choice has not ended. */
  finish_reasons: (string | null)[] = []

  /** Adds facts that earlier events did not have. */
  begin(id: unknown, model: unknown): void {
    this.id ??= idIn(id)
    this.model ??= idIn(model)
  }

  end(choice: number, reason: unknown): void {
    const text = idIn(reason)
    if (text === undefined || choice >= CHOICES_MAX) return
    // Traces keep the list: one that grows by `push` has room for 17.
    while (this.finish_reasons.length <= choice)
      this.finish_reasons = this.finish_reasons.concat(null)
    this.finish_reasons[choice] ??= text
  }
}

/** A name from an upstream, such as an id. Longer texts are ignored, because every event would repeat them. */
export function idIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_MAX ? value : undefined
}

/** Tokens that one attempt used. */
export interface Usage {
  /** All tokens of the prompt: without a cache, read from a cache, and written into one. */
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  /** Absent if the upstream does not report them. The next member is the part that is cached for an hour. */
  readonly cacheWriteTokens?: number
  readonly cacheWrite1hTokens?: number
  readonly reasoningTokens: number
  /** Searches that the upstream bills beside the tokens. */
  readonly searches?: number
  /** Estimated from the received text, because the upstream reported no usage. */
  readonly estimated: boolean
  /** The half that the upstream omitted: it is 0 here, and the meter estimates it. */
  readonly lacks?: 'promptTokens' | 'completionTokens'
}
