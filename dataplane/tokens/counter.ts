/** The tokens of a prompt, counted as its possible upstreams count them. */
import type { ModelRequest } from '../wire/inner-form.ts'
import { estimatePromptTokens } from './count.ts'

/** The tokens of a prompt. */
export interface PromptCount {
  readonly tokens: number
  /** Whether the number is a count with the model's tokenizer; otherwise it is an estimate. */
  readonly exact: boolean
  /** Whether the number is an upper bound instead of a count. */
  readonly isBound?: true
}

/** The kind of number that decided about a prompt. */
export type CountedBy = 'exact' | 'upper bound' | 'estimate'

/** Counts prompts for the models of one tokenizer. */
export interface Counter {
  /** How it counts, for status: an encoding, a file, `upstream`, or `characters` for an estimate. */
  readonly by: string
  /** Why the counter currently estimates. */
  readonly whyEstimated?: string | undefined
  /** A promise never rejects: if counting fails, the result is an estimate. */
  count(request: ModelRequest): PromptCount | Promise<PromptCount>
  /** The largest possible result of an exact count, without counting; undefined if only a count shows it. */
  most?(request: ModelRequest): number | undefined
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

/**
 * The counts of one prompt; each counter is called once for all its upstreams. Upper bounds replace counts until a
 * count is needed.
 */
export class PromptTokens {
  readonly #request: ModelRequest
  /** Most requests need only one counter. */
  #first: Counter | undefined
  #count = PENDING
  #others: Map<Counter, PromptCount> | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  /** Counts where there is no upper bound yet. Returns a promise if a counter needs time. */
  bound(upstreams: readonly Counting[]): Promise<unknown> | undefined {
    return this.#ask(upstreams, true)
  }

  /** Counts, also where there is an upper bound. Returns a promise if a counter needs time. */
  count(upstreams: readonly Counting[]): Promise<unknown> | undefined {
    return this.#ask(upstreams, false)
  }

  /** The count for an upstream whose prompt was counted. */
  at({ counter }: Counting): number {
    return this.#countOf(counter).tokens
  }

  /** The same number if it is exact; otherwise undefined. */
  exactAt({ counter }: Counting): number | undefined {
    const { tokens, exact } = this.#countOf(counter)
    return exact ? tokens : undefined
  }

  /** Whether the counts of all these are exact. */
  areExact(upstreams: readonly Counting[]): boolean {
    return upstreams.every(({ counter }) => this.#countOf(counter).exact)
  }

  /** Whether the number of any of these is an upper bound. */
  hasBounds(upstreams: readonly Counting[]): boolean {
    return upstreams.some(({ counter }) => this.#countOf(counter).isBound === true)
  }

  most(upstreams: readonly Counting[]): number {
    let most = 0
    for (const upstream of upstreams) most = Math.max(most, this.at(upstream))
    return most
  }

  /** The largest count or upper bound; 0 if all of these are estimates. */
  mostCounted(upstreams: readonly Counting[]): number {
    let most = 0
    for (const { counter } of upstreams) {
      const { tokens, exact, isBound } = this.#countOf(counter)
      if (exact || isBound) most = Math.max(most, tokens)
    }
    return most
  }

  /** The largest estimate; undefined if none of these is one. */
  mostEstimated(upstreams: readonly Counting[]): number | undefined {
    let most: number | undefined
    for (const { counter } of upstreams) {
      const { tokens, exact, isBound } = this.#countOf(counter)
      if (!exact && !isBound) most = Math.max(most ?? 0, tokens)
    }
    return most
  }

  #ask(upstreams: readonly Counting[], isBoundEnough: boolean): Promise<unknown> | undefined {
    let pending: Promise<void>[] | undefined
    for (const { counter } of upstreams) {
      const known = counter === this.#first ? this.#count : this.#others?.get(counter)
      if (known !== undefined && (isBoundEnough || !known.isBound)) continue
      const most = isBoundEnough ? counter.most?.(this.#request) : undefined
      if (most !== undefined) {
        this.#note(counter, { tokens: most, exact: false, isBound: true })
        continue
      }
      const counted = counter.count(this.#request)
      if (!(counted instanceof Promise)) {
        this.#note(counter, counted)
        continue
      }
      if (known === undefined) this.#note(counter, PENDING)
      pending ??= []
      pending.push(counted.then((count) => this.#note(counter, count)))
    }
    return pending && Promise.all(pending)
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
