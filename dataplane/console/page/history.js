/** The samples of the last quarter of an hour, as points of the charts, and the rates of the last ten seconds. */
import { quantile, ratesOf } from './rates.js'

const POINTS_MAX = 900
/** Rates cover this many samples, because single seconds vary too much. */
const OVER = 10
/** The time between samples that are further apart is unknown. */
export const GAP_MS = 3500

export class History {
  #samples = []
  /** A sample with only a time is a gap: no gateway answered. */
  points = []
  rates = ratesOf(undefined, { pods: [] })

  /** The last one; undefined before the first. */
  get sample() {
    return this.#samples.at(-1)
  }

  add(sample) {
    const earlier = this.#samples.slice(-OVER)
    this.#samples = [...earlier, sample]
    this.rates = ratesOf(
      { pods: sample.pods.map((pod) => beginningOf(pod, sample, earlier)) },
      sample,
    )
    const { total } = this.rates
    if (!total.isKnown && this.points.length === 0) return
    const at = new Date(sample.at).getTime()
    const point = total.isKnown ? pointOf(at, total) : { at }
    this.points = [...this.points.slice(1 - POINTS_MAX), point]
  }
}

function pointOf(at, total) {
  const { requests, errors, refused, tokens } = total
  return {
    at,
    requests,
    errors,
    refused,
    tokens,
    p50: quantile(0.5, total),
    p95: quantile(0.95, total),
  }
}

/** The pod in the earliest sample since which it ran without a gap or a restart. */
function beginningOf(pod, { at }, earlier) {
  let first = pod
  let since = new Date(at).getTime()
  for (const sample of earlier.toReversed()) {
    const before = sample.pods.find(({ name }) => name === pod.name)
    const then = new Date(sample.at).getTime()
    if (!before?.activity || !first.activity || since - then > GAP_MS) break
    if (before.activity.at_ms >= first.activity.at_ms) break
    first = before
    since = then
  }
  return first
}
