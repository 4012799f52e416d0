/** Waiting and running requests as the runtimes report them, in the text format of Prometheus. */
import type { ProviderName } from '../../providers/names.ts'
import { samplesOf } from './exposition.ts'

export interface Queue {
  /** Absent when the runtime did not say: unknown is not zero. */
  readonly waiting?: number
  readonly running?: number
}

interface Gauge {
  readonly metric: string
  /** Only series with these labels count; a label that a series lacks is empty. */
  readonly labels?: Readonly<Record<string, string>>
}

interface Gauges {
  /** The first one reported is taken. */
  readonly waiting: readonly Gauge[]
  readonly running: readonly Gauge[]
}

/** With priority scheduling sglang reports each priority beside the total, whose label is empty. */
const SGLANG_TOTAL = { priority: '' }

const GAUGES: Readonly<Partial<Record<ProviderName, Gauges>>> = {
  vllm: {
    waiting: [{ metric: 'vllm:num_requests_waiting' }],
    running: [{ metric: 'vllm:num_requests_running' }],
  },
  sglang: {
    waiting: [{ metric: 'sglang:num_queue_reqs', labels: SGLANG_TOTAL }],
    running: [{ metric: 'sglang:num_running_reqs', labels: SGLANG_TOTAL }],
  },
  tgi: {
    waiting: [{ metric: 'tgi_queue_size' }],
    running: [{ metric: 'tgi_batch_current_size' }],
  },
  llamacpp: {
    waiting: [{ metric: 'llamacpp:requests_deferred' }],
    running: [{ metric: 'llamacpp:requests_processing' }],
  },
  triton: {
    waiting: [
      { metric: 'nv_trt_llm_request_metrics', labels: { request_type: 'waiting' } },
      { metric: 'nv_inference_pending_request_count' },
    ],
    running: [{ metric: 'nv_trt_llm_request_metrics', labels: { request_type: 'active' } }],
  },
}

/** Ranks of one engine report the same requests, each for itself. */
const RANKS: ReadonlySet<string> = new Set(['tp_rank', 'pp_rank', 'moe_ep_rank'])

/** A longer text is not read: a sum over a part of it would be wrong, not unknown. */
const CHARACTERS_MAX = 8 * 1024 * 1024

/** Whether the runtime has such gauges at all, so that others are not scraped. */
export function hasQueueGauges(provider: ProviderName): boolean {
  return GAUGES[provider] !== undefined
}

export function queueOf(provider: ProviderName, metricsText: string): Queue {
  const gauges = GAUGES[provider]
  if (gauges === undefined || metricsText.length > CHARACTERS_MAX) return {}
  const waiting = firstReported(gauges.waiting, metricsText)
  const running = firstReported(gauges.running, metricsText)
  return {
    ...(waiting === undefined ? {} : { waiting }),
    ...(running === undefined ? {} : { running }),
  }
}

function firstReported(gauges: readonly Gauge[], text: string): number | undefined {
  for (const gauge of gauges) {
    const total = totalOf(gauge, text)
    if (total !== undefined) return total
  }
  return undefined
}

/** The sum over engines, of each the largest of its ranks. */
function totalOf({ metric, labels = {} }: Gauge, text: string): number | undefined {
  const engines = new Map<string, number>()
  for (const sample of samplesOf(text, metric)) {
    if (!(sample.value >= 0 && sample.value < Number.POSITIVE_INFINITY)) continue
    if (Object.entries(labels).some(([name, value]) => labelOf(sample.labels, name) !== value))
      continue
    const engine = engineOf(sample.labels)
    engines.set(engine, Math.max(engines.get(engine) ?? 0, sample.value))
  }
  if (engines.size === 0) return undefined
  return engines.values().reduce((total, value) => total + value, 0)
}

function labelOf(labels: ReadonlyMap<string, string>, name: string): string {
  return labels.get(name) ?? ''
}

function engineOf(labels: ReadonlyMap<string, string>): string {
  return JSON.stringify([...labels].filter(([name]) => !RANKS.has(name)).sort())
}
