/** One event for each attempt that used tokens, with a unique id: invoices and warehouses use them. */
import type { Snapshot } from '../../config/snapshot.ts'
import { namesIn, type ValuesIn } from '../../telemetry/trace/field.ts'
import { type AttemptTrace, TRACE_FIELDS, type Trace } from '../../telemetry/trace/fields.ts'
import type { AttemptUsage } from '../../telemetry/trace/parts.ts'
import { type ListedPrice, listedPrice } from './listed-price.ts'

export const EVENT_TYPE = 'inference.gw.usage.v1'

/** The fields of the trace that its declaration gives to events. */
export const EVENT_FIELDS = namesIn('event', TRACE_FIELDS)

type EventFields = ValuesIn<'event', typeof TRACE_FIELDS>

/** The members of `data`. Cached, written and reasoning tokens are parts of the input and the output. */
export interface UsageFacts extends EventFields {
  /** From 1 on. */
  readonly attempt: number
  readonly tenant: string
  readonly upstream: string
  readonly provider: string | null
  readonly model: string | null
  /** The status of the upstream, or of the gateway's answer if the attempt was the last one. */
  readonly status: number | null
  readonly code: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens: number
  readonly reasoning_tokens: number
  /** Billed in addition to the tokens, like rankings. */
  readonly searches: number
  readonly estimated: boolean
  readonly cost_nano_usd: number
  readonly cache_gain_nano_usd: number
  readonly cache_surcharge_nano_usd: number
  /** Null if the model has none. */
  readonly price: ListedPrice | null
  readonly tags: Readonly<Record<string, string>>
  /** The name or its hash; null if the request names none, or `usage.end_user` is `off`. */
  readonly end_user: string | null
  readonly duration_ms: number
  readonly ttft_ms: number | null
  readonly trace_id: string | null
}

export interface UsageEvent {
  /** Id of the event, the same for repeats. */
  readonly id: string
  /** When the request arrived, ISO 8601: its hour in reports. */
  readonly time: string
  readonly facts: UsageFacts
}

/** The attempts with usage. */
export function eventsOf(trace: Trace, snapshot: Snapshot, endUser?: string): UsageEvent[] {
  const events: UsageEvent[] = []
  for (const [index, attempt] of trace.attempts.entries()) {
    const { usage } = attempt
    if (usage !== undefined)
      events.push(eventOf({ trace, attempt, usage, index, endUser }, snapshot))
  }
  return events
}

interface Attempted {
  readonly trace: Trace
  readonly attempt: AttemptTrace
  readonly usage: AttemptUsage
  readonly index: number
  readonly endUser: string | undefined
}

function eventOf(
  { trace, attempt, usage, index, endUser }: Attempted,
  { upstreams, limits }: Snapshot,
): UsageEvent {
  const upstream = upstreams.get(attempt.upstream)
  const model = attempt.model ?? upstream?.model ?? null
  const isLast = index === trace.attempts.length - 1
  const facts: UsageFacts = {
    ...eventFields(trace),
    attempt: index + 1,
    tenant: trace.tenant ?? '',
    upstream: attempt.upstream,
    provider: upstream?.provider.name ?? null,
    model,
    status: isLast ? trace.status : (attempt.status ?? null),
    code: isLast ? (trace.code ?? null) : null,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cached_tokens,
    cache_write_tokens: usage.cache_write_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens ?? 0,
    reasoning_tokens: usage.reasoning_tokens,
    searches: usage.searches ?? 0,
    estimated: usage.estimated,
    cost_nano_usd: usage.cost_nano_usd,
    cache_gain_nano_usd: usage.cache_gain_nano_usd ?? 0,
    cache_surcharge_nano_usd: usage.cache_surcharge_nano_usd ?? 0,
    price: listedPrice(limits.prices.get(model ?? ''), usage.input_tokens),
    tags: tagsIn(trace.tags),
    end_user: endUser ?? null,
    duration_ms: whole((isLast ? trace.duration_ms : attempt.ended_ms) - attempt.started_ms),
    // The trace measures from the arrival of the request, an event from the beginning of the attempt.
    ttft_ms:
      isLast && trace.ttft_ms !== undefined ? whole(trace.ttft_ms - attempt.started_ms) : null,
    trace_id: trace.trace_id ?? null,
  }
  return { id: `${trace.request_id}.${index + 1}`, time: trace.time, facts }
}

function eventFields(trace: Trace): EventFields {
  const fields: { -readonly [F in keyof EventFields]?: EventFields[F] | null } = {}
  for (const name of EVENT_FIELDS) fields[name] = trace[name] ?? null
  return fields as EventFields
}

const NO_TAGS = {}

function tagsIn(tags: string | undefined): Readonly<Record<string, string>> {
  if (tags === undefined || tags === '') return NO_TAGS
  return Object.fromEntries(tags.split(',').map((pair) => pair.split('=')))
}

function whole(ms: number): number {
  return Math.max(0, Math.round(ms))
}
