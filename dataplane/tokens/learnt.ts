/** The ratio of a route's counted tokens to its estimated ones. */
import type { ModelRequest } from '../wire/inner-form.ts'
import { Worths } from './worth.ts'

/** Least requests before the gateway uses the ratio. */
const SEEN_MIN = 8
/** A hold differs from the estimate by at most this factor. */
const RATIO_MIN = 0.5
const RATIO_MAX = 2
/**
 * A prompt that used more than its hold moves the ratio further than one that used less, so that holds tend to be
 * large enough.
 */
const STEP_UP = 1 / 8
const STEP_DOWN = 1 / 10
/**
 * Estimated tokens at which a prompt moves the ratio by half its step: short prompts consist mostly of the template.
 */
const HALF_WEIGHT = 128
/** Bytes for an estimated token. A body with more contains much data beside text, such as pictures. */
const BYTES_PER_TOKEN_MAX = 8
const BYTES_FREE = 512

/** test/bench/micro/learnt-estimates.ts: 15 ns for a usage and a hold. */
export class Learnt {
  /** For charges without a usage; this estimate has no bias to either side. */
  readonly worths = new Worths()
  /** For ASCII texts. Other texts have another ratio. */
  readonly #sparse = new Ratio()
  readonly #dense = new Ratio()

  /** The tokens to hold for an estimated prompt; undefined if too little is known. */
  held(request: ModelRequest, estimate: number): number | undefined {
    if (!isOfText(request, estimate)) return undefined
    return (request.sparse ? this.#sparse : this.#dense).of(estimate)
  }

  /** Adds the tokens that an upstream counted for such a prompt. */
  note(request: ModelRequest, estimate: number, used: number): void {
    if (used > 0 && isOfText(request, estimate))
      (request.sparse ? this.#sparse : this.#dense).note(estimate, used)
  }

  /** Counted tokens for an estimated one, of ASCII and of other texts; undefined if too little is known. */
  get ratios(): { readonly ascii: number | undefined; readonly other: number | undefined } {
    return { ascii: this.#sparse.known, other: this.#dense.known }
  }
}

class Ratio {
  #ratio = 1
  #seen = 0

  get known(): number | undefined {
    return this.#seen < SEEN_MIN ? undefined : this.#ratio
  }

  of(estimate: number): number | undefined {
    return this.#seen < SEEN_MIN ? undefined : Math.ceil(estimate * this.#ratio)
  }

  note(estimate: number, used: number): void {
    const ratio = Math.min(RATIO_MAX, Math.max(RATIO_MIN, used / estimate))
    const weight = estimate / (estimate + HALF_WEIGHT)
    // The first requests have equal weight, because no hold uses the ratio yet.
    const step = this.#seen < SEEN_MIN ? 1 / (this.#seen + 1) : stepTo(ratio, this.#ratio) * weight
    this.#ratio += step * (ratio - this.#ratio)
    if (this.#seen < SEEN_MIN) this.#seen++
  }
}

function stepTo(ratio: number, from: number): number {
  return ratio > from ? STEP_UP : STEP_DOWN
}

function isOfText({ operation, bytes }: ModelRequest, estimate: number): boolean {
  return operation === 'chat' && bytes.length <= estimate * BYTES_PER_TOKEN_MAX + BYTES_FREE
}
