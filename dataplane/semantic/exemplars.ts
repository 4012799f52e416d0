/** The vectors of one route's exemplars, fetched in the background until they are complete. */
import type { Embeddings } from '../auxiliaries/embeddings.ts'
import type { Clock, Deadline, Deadlines } from '../base/clock.ts'
import type { RouteSection } from '../schema/index.ts'
import { ofLengthOne, type Sides } from './similarity.ts'

type Semantic = NonNullable<RouteSection['semantic']>
export type EmbeddingSection = NonNullable<Semantic['embedding']>

export interface ExemplarWorld {
  readonly embeddings: Pick<Embeddings, 'embed'>
  readonly deadlines: Deadlines
  readonly clock: Clock
}

/** The purpose of the vectors, for models that have several. */
export const INPUT_TYPE = 'classification'

/** Most concurrent requests, because the upstream has clients to serve. */
const AT_ONCE = 4
const TIMEOUT_MS = 10_000
const RETRY_MS_MIN = 1000
const RETRY_MS_MAX = 60_000

export class Exemplars implements Deadline {
  due = 0
  seat = -1
  readonly source: EmbeddingSection
  /** By text. */
  readonly vectors: Map<string, Float32Array>
  /** The vectors of both sides; undefined while some are missing. */
  sides: Sides | undefined
  /** Why the last request failed. */
  failure: string | undefined
  readonly #world: ExemplarWorld
  readonly #closing = new AbortController()
  #retryMs = RETRY_MS_MIN

  /** `known`: earlier vectors of the same model. */
  constructor(
    source: EmbeddingSection,
    known: ReadonlyMap<string, Float32Array>,
    world: ExemplarWorld,
  ) {
    this.source = source
    this.#world = world
    const texts = textsOf(source)
    this.vectors = new Map([...known].filter(([text]) => texts.has(text)))
    this.#look()
    if (this.sides === undefined) world.deadlines.add(this)
  }

  get size(): number {
    return textsOf(this.source).size
  }

  expire(): void {
    this.due = Number.POSITIVE_INFINITY
    void this.#learn()
  }

  close(): void {
    this.#closing.abort()
    this.#world.deadlines.remove(this)
  }

  async #learn(): Promise<void> {
    const missing = [...textsOf(this.source)].filter((text) => !this.vectors.has(text))
    this.failure = undefined
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#work(missing)))
    this.#look()
    if (this.sides !== undefined || this.#closing.signal.aborted) {
      this.#world.deadlines.remove(this)
      return
    }
    this.due = this.#world.clock.now() + this.#retryMs
    this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2)
  }

  /** Ends with the first failure of any of them. */
  async #work(missing: string[]): Promise<void> {
    const terms = {
      requestId: 'exemplar',
      inputType: INPUT_TYPE,
      timeoutMs: TIMEOUT_MS,
      signal: this.#closing.signal,
    }
    for (;;) {
      const text = missing.shift()
      if (text === undefined || this.failure !== undefined) return
      try {
        const vector = await this.#world.embeddings.embed(this.source, text, terms)
        this.vectors.set(text, ofLengthOne(vector))
      } catch (error) {
        this.failure = (error as Error).message
      }
    }
  }

  #look(): void {
    const { easy, hard } = this.source.exemplars
    if (this.vectors.size < this.size) return
    const vectorsOf = (texts: readonly string[]) =>
      texts.flatMap((text) => this.vectors.get(text) ?? [])
    this.sides = { easy: vectorsOf(easy), hard: vectorsOf(hard) }
  }
}

function textsOf({ exemplars }: EmbeddingSection): Set<string> {
  return new Set([...exemplars.easy, ...exemplars.hard])
}
