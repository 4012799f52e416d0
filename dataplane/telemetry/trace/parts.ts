/** Parts of a trace that are records themselves: usage, waits, verdicts, searches. */

/** Cached, written and reasoning tokens are parts of the input and the output. */
export interface AttemptUsage {
  readonly input_tokens: number
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens?: number
  readonly output_tokens: number
  readonly reasoning_tokens: number
  /** Billed beside the tokens. */
  readonly searches?: number | undefined
  /** Estimated from the content, because the upstream did not report it. */
  readonly estimated: boolean
  readonly cost_nano_usd: number
  /** How much prompt caches saved or added; absent if no cache was involved. */
  readonly cache_gain_nano_usd?: number
  readonly cache_surcharge_nano_usd?: number
}

/** A wait for an upstream where no server listened, or for a place at a full one. */
export interface WaitTrace {
  readonly upstream: string
  /** Absent: a server. */
  readonly for?: 'place'
  /** Milliseconds since the request's headers arrived. */
  readonly started_ms: number
  readonly ended_ms: number
  /**
   * `reached`, or `granted` for a place; `gave_up`, `left`, `no_room` where as many waited as may, or `changed` where no
   * upstream could be waited for any more.
   */
  readonly outcome: string
}

/** An upstream that was considered and not tried. */
export interface PassedOver {
  readonly upstream: string
  readonly why: string
}

/** One verdict of a guardrail; for a stream, those on its pieces. */
export interface GuardrailTrace {
  readonly name: string
  readonly side: string
  /** `pass`, `mask`, `block`; `timeout`, `error` or `open` if the sidecar gave no verdict. */
  readonly verdict: string
  readonly ms: number
  readonly reason?: string
}

/** The verdict on a prompt if easy and hard ones go to two upstreams. */
export interface SemanticTrace {
  readonly classifier: 'builtin' | 'embedding'
  /** From 0 to 1. */
  readonly score: number
  readonly side: 'easy' | 'hard'
  /** Why the built-in classifier replaced the route's. */
  readonly reason?: string
}

/** One search of a vector store. */
export interface RetrievalTrace {
  readonly name: string
  readonly store: string
  /** `ok`; `timeout`, `error` or `open` if the store or the embedding upstream did not answer. */
  readonly outcome: string
  readonly ms: number
  readonly reason?: string
}

/** The room for passages in the largest context window of the route, in tokens. */
export interface ContextTrace {
  /** Null if no window is known. */
  readonly window: number | null
  /** Kept for the answer. */
  readonly reserved: number
  readonly prompt: number
  /** Whether the prompt was counted, and not estimated. */
  readonly exact: boolean
  /** Left for passages. */
  readonly room: number | null
  /** Used by the message with passages. */
  readonly added: number
}
