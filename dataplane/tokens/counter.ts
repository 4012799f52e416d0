/** The tokens of a prompt, as the upstreams that it may go to count them. */
import type { ModelRequest } from '../inner-form.ts'
import { estimatePromptTokens } from './count.ts'

/** Counts prompts for the models of one tokenizer. */
export interface Counter {
  /** Whether it counts as the model does; else it estimates. */
  readonly exact: boolean
  /** A promise never rejects: where counting fails, it is estimated. */
  count(request: ModelRequest): number | Promise<number>
}

export const ESTIMATE: Counter = { exact: false, count: estimatePromptTokens }

/** The part of an upstream that counts. */
interface Counting {
  readonly counter: Counter
}

/** The counts of one prompt; each counter is asked once for all of its upstreams. */
export class PromptTokens {
  readonly #request: ModelRequest
  /** The first counter is mostly the only one. */
  #first: Counter | undefined
  #tokens = 0
  #others: Map<Counter, number> | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  /** Returns a promise where a counter has to be waited for. */
  count(upstreams: readonly Counting[]): Promise<unknown> | undefined {
    let pending: Promise<void>[] | undefined
    for (const { counter } of upstreams) {
      if (counter === this.#first || this.#others?.has(counter)) continue
      const tokens = counter.count(this.#request)
      const isKnown = typeof tokens === 'number'
      this.#note(counter, isKnown ? tokens : 0)
      if (isKnown) continue
      pending ??= []
      pending.push(tokens.then((known) => this.#note(counter, known)))
    }
    return pending && Promise.all(pending)
  }

  /** The count for an upstream that has been counted for. */
  at({ counter }: Counting): number {
    return counter === this.#first ? this.#tokens : (this.#others?.get(counter) ?? 0)
  }

  most(upstreams: readonly Counting[]): number {
    let most = 0
    for (const upstream of upstreams) most = Math.max(most, this.at(upstream))
    return most
  }

  #note(counter: Counter, tokens: number): void {
    this.#first ??= counter
    if (counter === this.#first) this.#tokens = tokens
    else {
      this.#others ??= new Map()
      this.#others.set(counter, tokens)
    }
  }
}
