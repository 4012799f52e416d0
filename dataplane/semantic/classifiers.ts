/** Scores the difficulty of prompts: by rules over their text, or by their meaning if the route has exemplars. */
import { AuxiliaryError } from '../auxiliaries/auxiliary.ts'
import type { EmbeddingTerms } from '../auxiliaries/embeddings.ts'
import type { RouteSection, Section } from '../schema/index.ts'
import { builtinScore, questionOf } from '../strategies/difficulty.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { Exemplars, type ExemplarWorld, INPUT_TYPE } from './exemplars.ts'
import { scoreOf } from './similarity.ts'

/** The score of a prompt, and the classifier that computed it. */
export interface Difficulty {
  readonly classifier: 'builtin' | 'embedding'
  readonly score: number
  /** Why the configured classifier was not used. */
  readonly reason?: string
}

interface KeptExemplars {
  /** Everything except their texts that the vectors depend on. */
  readonly model: string
  readonly identity: string
  readonly exemplars: Exemplars
}

/** Longest wait for the vector of a prompt. */
const TIMEOUT_MS = 500

export class Classifiers {
  readonly #world: ExemplarWorld
  /** By the name of the route. */
  #known = new Map<string, KeptExemplars>()

  constructor(world: ExemplarWorld) {
    this.#world = world
  }

  /** Learns the exemplars of a configuration, and removes old ones. */
  follow({ routes, upstreams }: Pick<Section, 'routes' | 'upstreams'>): void {
    const before = this.#known
    this.#known = new Map()
    for (const { name, semantic } of routes) {
      const { embedding } = semantic ?? {}
      if (embedding === undefined) continue
      const upstream = upstreams.find((one) => one.name === embedding.upstream)
      const model = JSON.stringify([upstream, embedding.model])
      const identity = JSON.stringify([model, embedding.exemplars])
      const known = before.get(name)
      if (known?.identity === identity) this.#known.set(name, known)
      else {
        const vectors = known?.model === model ? known.exemplars.vectors : new Map()
        const exemplars = new Exemplars(embedding, vectors, this.#world)
        this.#known.set(name, { model, identity, exemplars })
      }
    }
    for (const [name, known] of before) if (this.#known.get(name) !== known) known.exemplars.close()
  }

  /** Never throws: a prompt without a vector is judged by its text. */
  async judge(
    route: Pick<RouteSection, 'name'>,
    request: ModelRequest,
    terms: EmbeddingTerms,
  ): Promise<Difficulty> {
    const exemplars = this.#known.get(route.name)?.exemplars
    if (exemplars === undefined) return { classifier: 'builtin', score: builtinScore(request) }
    const score = await this.#scoreOf(request, exemplars, terms)
    if (typeof score === 'number') return { classifier: 'embedding', score }
    return { classifier: 'builtin', score: builtinScore(request), reason: score }
  }

  /** The progress of each route's exemplars. */
  list() {
    return [...this.#known].map(([route, { exemplars }]) => {
      const { source, vectors, size, sides, failure } = exemplars
      return {
        route,
        upstream: source.upstream,
        ready: sides !== undefined,
        exemplars: size,
        embedded: vectors.size,
        ...(failure !== undefined && { failure }),
      }
    })
  }

  /** The score, or the reason that it is missing. */
  async #scoreOf(
    request: ModelRequest,
    { source, sides, failure }: Exemplars,
    terms: EmbeddingTerms,
  ): Promise<number | string> {
    const question = questionOf(request)
    if (question === undefined) return 'there is no text to judge'
    if (sides === undefined) return failure ?? 'the exemplars are not embedded yet'
    const timeoutMs = Math.min(TIMEOUT_MS, terms.timeoutMs ?? TIMEOUT_MS)
    try {
      const asked = { ...terms, inputType: INPUT_TYPE, timeoutMs }
      const vector = await this.#world.embeddings.embed(source, question, asked)
      return scoreOf(vector, sides) ?? 'its vector has another length than those of the exemplars'
    } catch (error) {
      if (error instanceof AuxiliaryError) return error.message
      return 'its text cannot be embedded'
    }
  }
}
