/** The samples of the last quarter of an hour, as points of the charts, and the rates of the last ten seconds. */
import { quantile, ratesOf } from './rates.js'

const POINTS_MAX = 900
/** Rates are taken over this many samples: a second alone would jump. */
const OVER = 10

export class History {
  #samples = []
  points = []
  rates = ratesOf(undefined, { pods: [] })

  /** The last one; undefined before the first. */
  get sample() {
    return this.#samples.at(-1)
  }

  add(sample) {
    this.#samples = [...this.#samples.slice(-OVER), sample]
    this.rates = ratesOf(this.#samples.length > 1 ? this.#samples[0] : undefined, sample)
    if (this.#samples.length === 1) return
    const { total } = this.rates
    const point = {
      at: new Date(sample.at).getTime(),
      requests: total.requests,
      errors: total.errors,
      tokens: total.tokens,
      p50: quantile(0.5, total),
      p95: quantile(0.95, total),
    }
    this.points = [...this.points.slice(1 - POINTS_MAX), point]
  }
}
