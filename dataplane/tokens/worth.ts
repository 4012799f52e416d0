/** Corrects estimates for attempts without usage, by an upstream's reports on one route. */
import type { Usage } from '../wire/inner-form.ts'

/** The reported tokens that have the same weight as the gateway's own estimate. */
const PRIOR = 256
/** Older usage counts less: beyond this many estimated tokens, all sums are halved. */
const MEMORY = 262_144
/** Tokens for an estimated one: no tokenizer differs more, so a usage beyond it has another cause. */
const RATIO_MAX = 8
/** How often a prompt is weighed to learn from it: all of the first prompts, later one of several. */
const PROMPTS_FIRST = 8
const PROMPTS_EVERY = 16

/** A faster whole answer shows nothing about the upstream's speed. */
const PACE_MS_MIN = 250

/** A quotient of two sums. */
class Quotient {
  #above: number
  #below: number

  constructor(prior: number) {
    this.#above = prior
    this.#below = prior
  }

  get value(): number {
    return this.#below === 0 ? 0 : this.#above / this.#below
  }

  note(above: number, below: number): void {
    this.#above += above
    this.#below += below
    if (this.#below < MEMORY) return
    this.#above /= 2
    this.#below /= 2
  }
}

/** test/bench/micro/weight.ts measures it. */
export class Worth {
  readonly #prompt = new Quotient(PRIOR)
  readonly #answer = new Quotient(PRIOR)
  readonly #cached = new Quotient(0)
  readonly #written = new Quotient(0)
  /** Tokens per millisecond. */
  readonly #pace = new Quotient(0)
  #prompts = 0

  /** A prompt of this weight, and the share of it that the upstream usually caches. */
  promptOf(weight: number): Pick<Usage, 'promptTokens' | 'cachedTokens' | 'cacheWriteTokens'> {
    return this.inCaches(Math.round(weight * this.#prompt.value))
  }

  inCaches(
    promptTokens: number,
  ): Pick<Usage, 'promptTokens' | 'cachedTokens' | 'cacheWriteTokens'> {
    const written = Math.floor(promptTokens * this.#written.value)
    return {
      promptTokens,
      cachedTokens: Math.floor(promptTokens * this.#cached.value),
      ...(written > 0 && { cacheWriteTokens: written }),
    }
  }

  answerOf(weight: number): number {
    return Math.round(weight * this.#answer.value)
  }

  /** The tokens of a whole answer after this time; 0 while the speed is unknown. */
  madeIn(milliseconds: number): number {
    return Math.round(milliseconds * this.#pace.value)
  }

  notePace(milliseconds: number, tokens: number): void {
    if (milliseconds >= PACE_MS_MIN) this.#pace.note(tokens, milliseconds)
  }

  /** Whether this prompt should be weighed. */
  get wantsPrompt(): boolean {
    const count = this.#prompts++
    return count < PROMPTS_FIRST || count % PROMPTS_EVERY === 0
  }

  notePrompt(weight: number, tokens: number): void {
    if (weight > 0 && tokens > 0) this.#prompt.note(bounded(tokens, weight), weight)
  }

  noteAnswer(weight: number, tokens: number): void {
    if (weight > 0 && tokens > 0) this.#answer.note(bounded(tokens, weight), weight)
  }

  noteCaches({ promptTokens, cachedTokens, cacheWriteTokens = 0 }: Usage): void {
    if (promptTokens <= 0) return
    const cached = Math.min(cachedTokens, promptTokens)
    this.#cached.note(cached, promptTokens)
    this.#written.note(Math.min(cacheWriteTokens, promptTokens - cached), promptTokens)
  }
}

function bounded(tokens: number, weight: number): number {
  return Math.min(weight * RATIO_MAX, Math.max(weight / RATIO_MAX, tokens))
}

/** The corrections for one route's upstreams. Another model at the same upstream starts without corrections. */
export class Worths {
  readonly #known = new Map<string, { readonly model: string; readonly worth: Worth }>()

  of(upstream: string, model: string): Worth {
    const known = this.#known.get(upstream)
    if (known?.model === model) return known.worth
    const worth = new Worth()
    this.#known.set(upstream, { model, worth })
    return worth
  }
}
