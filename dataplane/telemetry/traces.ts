/** The last decisions of this process: what was refused and why, and each attempt with its timing. */
import type { CountedBy } from '../tokens/counter.ts'
import type { AnswerFacts } from '../wire/answer-facts.ts'
import type { KeptTexts } from './kept-texts.ts'
import type { ShownPassage } from './shown-passage.ts'

export interface AttemptTrace {
  readonly upstream: string
  /** The endpoint of the attempt, if the upstream has several. */
  readonly endpoint?: string | undefined
  /** Milliseconds since the request's headers arrived. */
  readonly started_ms: number
  /** Time of the first content or of the failure. */
  ended_ms: number
  /** `running`, `ok`, `left`, `refused` by an inspector, or the class of the failure. */
  outcome: string
  /** HTTP status and words of a failure. */
  status: number | undefined
  reason: string | undefined
  /** The upstream's id of the request. */
  upstream_request_id: string | undefined
  /** The upstream's own rate limits, by header name. */
  upstream_limits: Readonly<Record<string, string>> | undefined
  /** Parameters that the upstream cannot do, and the route drops. */
  dropped: readonly string[] | undefined
  /** Hints and members of other APIs that the upstream does not support. */
  left_out: readonly string[] | undefined
  /** OpenTelemetry span of the attempt, the parent of the upstream's spans. */
  span_id: string | undefined
  /** Id, model and finish reasons of the answer; filled in while a stream runs. */
  answer: AnswerFacts | undefined
  /** Tokens and their cost, if any were used. */
  usage: AttemptUsage | undefined
}

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
  /** Whether the tokens were counted from the texts, because the upstream did not report them. */
  readonly estimated: boolean
  readonly cost_nano_usd: number
}

/** A wait for an upstream where no server listened. */
export interface WaitTrace {
  readonly upstream: string
  /** Milliseconds since the request's headers arrived. */
  readonly started_ms: number
  readonly ended_ms: number
  /** `reached`, `gave_up`, `left`, or `no_room` if the limit of waiting requests was reached. */
  readonly outcome: string
}

/** An upstream that was considered but not tried. */
export interface PassedOver {
  readonly upstream: string
  readonly why: string
}

/** One verdict of a guardrail; of a stream the judgements of its pieces. */
export interface GuardrailTrace {
  readonly name: string
  readonly side: string
  /** `pass`, `mask`, `block`; `timeout`, `error` or `open` where the sidecar gave no verdict. */
  readonly verdict: string
  readonly ms: number
  readonly reason?: string
}

/** The score of a prompt on a route with upstreams for easy and hard ones. */
export interface SemanticTrace {
  readonly classifier: 'builtin' | 'embedding'
  /** From 0 to 1. */
  readonly score: number
  readonly side: 'easy' | 'hard'
  /** Why the built-in classifier replaced the configured one. */
  readonly reason?: string
}

/** One search of a vector store. */
export interface RetrievalTrace {
  readonly name: string
  readonly store: string
  /** `ok`; `timeout`, `error` or `open` where the store or the upstream that embeds gave no answer. */
  readonly outcome: string
  readonly ms: number
  readonly reason?: string
}

/** The room for passages in the largest context window of the route, in tokens. */
export interface ContextTrace {
  /** Null if no window is known. */
  readonly window: number | null
  /** Tokens reserved for the answer. */
  readonly reserved: number
  readonly prompt: number
  /** Whether the prompt was counted, and not estimated. */
  readonly exact: boolean
  /** Tokens left for passages. */
  readonly room: number | null
  /** Tokens of the message with passages. */
  readonly added: number
}

/** The trace of a request, which stages fill in. All fields are listed, including rare ones. */
export class Trace {
  readonly request_id: string
  /** ISO 8601. */
  readonly time: string
  readonly method: string
  readonly path: string
  /** The client's id of it, from `X-Request-Id`. */
  client_request_id: string | undefined = undefined
  /** The client's session id; a request that an agent repeats has the same one. */
  session_id: string | undefined = undefined
  /** W3C trace context as it arrived. */
  trace_id: string | undefined = undefined
  traceparent: string | undefined = undefined
  tracestate: string | undefined = undefined
  /** Span of the request and flags of its trace, if traces are exported. */
  span_id: string | undefined = undefined
  trace_flags: number | undefined = undefined
  tenant: string | undefined = undefined
  key: string | undefined = undefined
  /** Tags of the key and the client that the configuration declares: `team=blue,feature=search`. */
  tags: string | undefined = undefined
  /** `none` for requests without a model. */
  operation = 'none'
  /** The model that the client asked for, and the route it resolved to. */
  model: string | undefined = undefined
  route = 'none'
  strategy: string | undefined = undefined
  upstream = 'none'
  stream: boolean | undefined = undefined
  /** Number of requested answers, if more than one. */
  choices: number | undefined = undefined
  /** Most tokens of one answer, if there is a limit. */
  max_tokens: number | undefined = undefined
  status = 0
  code: string | undefined = undefined
  message: string | undefined = undefined
  readonly attempts: AttemptTrace[] = []
  passed_over: readonly PassedOver[] | undefined = undefined
  waits: WaitTrace[] | undefined = undefined
  /** Verdicts of guardrails, in their order. */
  guardrails: GuardrailTrace[] | undefined = undefined
  /** Present for routes with the strategy semantic. */
  semantic: SemanticTrace | undefined = undefined
  /** Searches of vector stores, and the passages that they found. */
  retrieval: readonly RetrievalTrace[] | undefined = undefined
  passages: readonly ShownPassage[] | undefined = undefined
  context: ContextTrace | undefined = undefined
  /** Tokens of the prompt, if the gateway needed them: counted, estimated or reported. */
  counted_tokens: number | undefined = undefined
  counted_exact: boolean | undefined = undefined
  counted_by: CountedBy | undefined = undefined
  prompt_tokens: number | undefined = undefined
  completion_tokens: number | undefined = undefined
  usage_estimated: boolean | undefined = undefined
  /** Time for receiving the body. */
  body_ms = 0
  /** From the headers to the first content of a stream. */
  ttft_ms: number | undefined = undefined
  duration_ms = 0
  /** Private, so that JSON, and with it logs and lists of traces, omits the texts. */
  #texts: KeptTexts | undefined = undefined

  constructor(requestId: string, time: string, method: string, path: string) {
    this.request_id = requestId
    this.time = time
    this.method = method
    this.path = path
  }

  /** Texts of the prompt, if the route keeps them. */
  get texts(): KeptTexts | undefined {
    return this.#texts
  }

  set texts(texts: KeptTexts | undefined) {
    this.#texts = texts
  }
}

/** Bytes of the texts of all traces together. */
const TEXT_BYTES_MAX = 16_777_216

/** Duration from which a request counts as slow and is kept with the errors. */
const SLOW_MS = 10_000

export class Traces {
  #recent: Ring<Trace>
  #notable: Ring<Trace>
  /** Traces with texts, oldest first. */
  readonly #texted = new Set<Trace>()
  #textBytes = 0

  constructor(size: number) {
    this.#recent = new Ring(size)
    this.#notable = new Ring(notableOf(size))
  }

  /** Changes the size, and keeps as many traces as fit. */
  resize(size: number): void {
    if (size === this.size) return
    this.#recent = this.#recent.resized(size)
    this.#notable = this.#notable.resized(notableOf(size))
    const recent = new Set(this.#recent.newestFirst())
    for (const trace of this.#texted) if (!recent.has(trace)) this.#forget(trace)
  }

  /** How many decisions are kept. */
  get size(): number {
    return this.#recent.size
  }

  add(trace: Trace): void {
    if (trace.texts !== undefined) this.#keep(trace, trace.texts)
    // Texts are dropped with the first ring, even for an error that the second ring keeps.
    const gone = this.#recent.add(trace)
    if (gone?.texts !== undefined) this.#forget(gone)
    if (trace.status >= 400 || trace.duration_ms >= SLOW_MS) this.#notable.add(trace)
  }

  /** The oldest texts make room. */
  #keep(trace: Trace, { bytes }: KeptTexts): void {
    this.#texted.add(trace)
    this.#textBytes += bytes
    for (const oldest of this.#texted) {
      if (this.#textBytes <= TEXT_BYTES_MAX) return
      this.#forget(oldest)
    }
  }

  #forget(trace: Trace): void {
    if (!this.#texted.delete(trace)) return
    this.#textBytes -= trace.texts?.bytes ?? 0
    trace.texts = undefined
  }

  /** Newest first, each once. */
  list(limit: number): Trace[] {
    const all = new Set([...this.#recent.newestFirst(), ...this.#notable.newestFirst()])
    return [...all].slice(0, limit)
  }

  /** By the id of the request, or of its W3C trace. */
  get(id: string): Trace | undefined {
    const all = this.list(Number.POSITIVE_INFINITY)
    return (
      all.find(({ request_id }) => request_id === id) ?? all.find(({ trace_id }) => trace_id === id)
    )
  }
}

/** Errors and slow requests have a second ring, so that the many other requests do not push them out. */
function notableOf(size: number): number {
  return Math.ceil(size / 4)
}

class Ring<T> {
  readonly #items: (T | undefined)[]
  #next = 0

  constructor(size: number) {
    this.#items = new Array<T | undefined>(size).fill(undefined)
  }

  get size(): number {
    return this.#items.length
  }

  /** Returns the item that was pushed out. */
  add(item: T): T | undefined {
    if (this.#items.length === 0) return item
    const gone = this.#items[this.#next]
    this.#items[this.#next] = item
    this.#next = (this.#next + 1) % this.#items.length
    return gone
  }

  resized(size: number): Ring<T> {
    const ring = new Ring<T>(size)
    for (const item of this.newestFirst().slice(0, size).reverse()) ring.add(item)
    return ring
  }

  newestFirst(): T[] {
    const ordered = [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)]
    return ordered.filter((item) => item !== undefined).reverse()
  }
}
