/** The tokens of a prompt, as the upstreams that it may go to count them. */
import type { ModelRequest } from '../inner-form.ts'
import { estimatePromptTokens } from './count.ts'

/** The tokens of a prompt. */
export interface PromptCount {
  readonly tokens: number
  /** Counted as the model does; else estimated. */
  readonly exact: boolean
}

/** Counts prompts for the models of one tokenizer. */
export interface Counter {
  /** The way it counts, for status: an encoding, a file, `upstream`, or `characters` for an estimate. */
  readonly by: string
  /** Why it estimates for now, though it should not. */
  readonly whyEstimated?: string | undefined
  /** A promise never rejects: where counting fails, it is estimated. */
  count(request: ModelRequest): PromptCount | Promise<PromptCount>
}

export const ESTIMATE: Counter = {
  by: 'characters',
  count: (request) => ({ tokens: estimatePromptTokens(request), exact: false }),
}

const PENDING: PromptCount = { tokens: 0, exact: false }

/** The part of an upstream that counts. */
interface Counting {
  readonly counter: Counter
}

/** The counts of one prompt; each counter is asked once for all of its upstreams. */
export class PromptTokens {
  readonly #request: ModelRequest
  /** The first counter is mostly the only one. */
  #first: Counter | undefined
  #count = PENDING
  #others: Map<Counter, PromptCount> | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  /** Returns a promise where a counter has to be waited for. */
  count(upstreams: readonly Counting[]): Promise<unknown> | undefined {
    let pending: Promise<void>[] | undefined
    for (const { counter } of upstreams) {
      if (counter === this.#first || this.#others?.has(counter)) continue
      const counted = counter.count(this.#request)
      const isPending = counted instanceof Promise
      this.#note(counter, isPending ? PENDING : counted)
      if (!isPending) continue
      pending ??= []
      pending.push(counted.then((known) => this.#note(counter, known)))
    }
    return pending && Promise.all(pending)
  }

  /** The count for an upstream that has been counted for. */
  at({ counter }: Counting): number {
    return this.#countOf(counter).tokens
  }

  /** Whether all of these have been counted for, and not estimated. */
  areExact(upstreams: readonly Counting[]): boolean {
    return upstreams.every(({ counter }) => this.#countOf(counter).exact)
  }

  most(upstreams: readonly Counting[]): number {
    let most = 0
    for (const upstream of upstreams) most = Math.max(most, this.at(upstream))
    return most
  }

  #countOf(counter: Counter): PromptCount {
    return counter === this.#first ? this.#count : (this.#others?.get(counter) ?? PENDING)
  }

  #note(counter: Counter, count: PromptCount): void {
    this.#first ??= counter
    if (counter === this.#first) this.#count = count
    else {
      this.#others ??= new Map()
      this.#others.set(counter, count)
    }
  }
}
