/** Waiting and running requests as the runtimes report them, in the text format of Prometheus. */
import type { Gauge, QueueGauges } from '../../wire/provider-facts.ts'
import { samplesOf } from './exposition.ts'

export interface Queue {
  /** Absent if the runtime did not report it: unknown is not zero. */
  readonly waiting?: number
  readonly running?: number
}

/** Each rank of an engine reports the same requests. */
const RANKS: ReadonlySet<string> = new Set(['tp_rank', 'pp_rank', 'moe_ep_rank'])

/** A longer text is ignored, because a sum over a part of it would be wrong. */
const CHARACTERS_MAX = 8 * 1024 * 1024

export function queueOf(gauges: QueueGauges, metricsText: string): Queue {
  if (metricsText.length > CHARACTERS_MAX) return {}
  const waiting = firstReported(gauges.waiting, metricsText)
  const running = firstReported(gauges.running, metricsText)
  return {
    ...(waiting === undefined ? {} : { waiting }),
    ...(running === undefined ? {} : { running }),
  }
}

/** The used fraction of the KV cache; with several engines, that of the engine with the most room. */
export function shareOf({ kvShare = [] }: QueueGauges, metricsText: string): number | undefined {
  if (metricsText.length > CHARACTERS_MAX) return undefined
  for (const { metric, labels = {} } of kvShare) {
    const wanted = Object.entries(labels)
    const values = samplesOf(metricsText, metric)
      .filter((sample) => wanted.every(([name, value]) => labelOf(sample.labels, name) === value))
      .map(({ value }) => value)
      .filter((value) => value >= 0)
    if (values.length > 0) return Math.min(...values)
  }
  return undefined
}

function firstReported(gauges: readonly Gauge[], text: string): number | undefined {
  for (const gauge of gauges) {
    const total = totalOf(gauge, text)
    if (total !== undefined) return total
  }
  return undefined
}

/** The sum over engines of the largest value of their ranks. */
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
