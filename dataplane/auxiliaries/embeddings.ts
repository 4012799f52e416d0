/** The vector of a text, from an upstream of the configuration: for retrieval, and for judging requests by their meaning. */

import type { Deadlines } from '../base/clock.ts'
import { atOnce } from '../base/steps.ts'
import { parseRequest } from '../body/request.ts'
import { Presence } from '../call/presence.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Meter } from '../tokens/meter.ts'
import type { Pair } from '../translation/pair.ts'
import { Attempt } from '../upstream/attempt/attempt.ts'
import { fetchEnded } from '../upstream/credentials/upstream-credential.ts'
import { writingBody } from '../upstream/encoding/written-out.ts'
import { Target, type Targets } from '../upstream/live/targets.ts'
import { expected } from '../upstream/live/vectors.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest } from '../wire/inner-form.ts'
import type { Reading } from '../wire/reading.ts'
import { Auxiliary, AuxiliaryError, type AuxiliaryWorld } from './auxiliary.ts'

/** Where vectors come from. */
export interface VectorSource {
  /** Name of an upstream. */
  readonly upstream: string
  /** Absent: the upstream's model. */
  readonly model?: string | undefined
}

export interface EmbeddingTerms {
  /** Sent to the upstream as the id of the request. */
  readonly requestId: string
  /** The purpose of the vector, for models that have several: a search by default. */
  readonly inputType?: string
  /** The upstream's own timeout always applies. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Upstreams that may get the text; absent: all. */
  readonly permitted?: ReadonlySet<string> | undefined
}

export interface EmbeddingWorld extends AuxiliaryWorld {
  readonly metrics: Metrics
  readonly deadlines: Deadlines
  readonly targets: Pick<Targets, 'named'>
  /** How the API of embeddings reads its bodies. */
  readonly reading: Reading<EmbeddingsRequest>
}

/** Longer texts are cut: few embedding models read more than 8,192 tokens, and a search needs far fewer. */
export const EMBEDDED_CHARACTERS_MAX = 8_192
/** Fewer than most texts have, so that a cut text fits the window of its model. */
const CHARACTERS_PER_TOKEN = 3
const SEARCH = 'search_query'

interface KeptAuxiliary {
  readonly auxiliary: Auxiliary
  /** The upstream for vectors of one model and purpose. */
  targets: Map<string, Target>
  /** The upstream that made them. */
  from: Target | undefined
}

export class Embeddings {
  readonly #world: EmbeddingWorld
  readonly #known = new Map<string, KeptAuxiliary>()

  constructor(world: EmbeddingWorld) {
    this.#world = world
  }

  /**
   * Sends it like an attempt of a client: with the credentials, connections, breaker and queue of the upstream. No
   * tenant is charged. Throws AuxiliaryError.
   */
  async embed(source: VectorSource, text: string, terms: EmbeddingTerms): Promise<Float32Array> {
    const { inputType = SEARCH, timeoutMs, signal, permitted } = terms
    if (permitted?.has(source.upstream) === false) {
      const why = `upstream "${source.upstream}" lacks the labels that the tenant requires`
      throw new AuxiliaryError('error', why)
    }
    const { auxiliary, target } = this.#find(source, inputType)
    const ownMs = target.settings.timeoutMs
    const asking = { timeoutMs: Math.min(timeoutMs ?? ownMs, ownMs), signal }
    const vector = await auxiliary.ask(
      (ending) => this.#ask(target, text, terms.requestId, ending),
      asking,
    )
    auxiliary.count('ok')
    return vector
  }

  /** An upstream of the active configuration, in no route. */
  upstream(name: string): Target | undefined {
    return this.#world.targets.named(name)
  }

  #find({ upstream, model }: VectorSource, inputType: string) {
    const from = this.#world.targets.named(upstream)
    if (from === undefined) {
      this.#known.delete(upstream)
      throw new AuxiliaryError('error', `the configuration has no upstream "${upstream}"`)
    }
    const known = this.#known.get(upstream) ?? {
      auxiliary: new Auxiliary({ kind: 'embedding', name: upstream }, this.#world),
      targets: new Map(),
      from,
    }
    this.#known.set(upstream, known)
    if (known.from !== from) {
      known.from = from
      known.targets = new Map()
    }
    const key = JSON.stringify([model, inputType])
    const target = known.targets.get(key) ?? asking(from, model, inputType)
    known.targets.set(key, target)
    return { auxiliary: known.auxiliary, target }
  }

  async #ask(
    target: Target,
    text: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<Float32Array> {
    const { clock } = this.#world
    const presence = new Presence()
    // The caller does not wait for the usage.
    const leave = () => presence.end(new Error('The vector is not awaited.'))
    signal.addEventListener('abort', leave, { once: true })
    try {
      const fetching = target.state.credential.renewed?.pending()
      if (fetching !== undefined) await fetchEnded(fetching, target.settings.timeoutMs, presence)
      signal.throwIfAborted()
      const standing = target.standing(clock.now(), false)
      const why = standing === 'out' ? target.state.outBecause(clock.now()) : 'queue full'
      if (standing !== 'ready') throw new AuxiliaryError('open', `upstream ${target.name}: ${why}`)
      return await this.#attempt(target, text, requestId, presence)
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  async #attempt(
    target: Target,
    text: string,
    requestId: string,
    presence: Presence,
  ): Promise<Float32Array> {
    const { clock } = this.#world
    const { name, settings, state } = target
    const request = requestOf(text, target, this.#world.reading)
    const { pair, answer } = capturing(target)
    const encoded = pair.encode(request, target.settingsNow ?? settings, undefined)
    const upstream = atOnce(writingBody(encoded))
    const permit = state.breaker.permit(clock.now())
    if (permit === undefined) throw new AuxiliaryError('open', `upstream ${name}: breaker open`)
    const attempt = new Attempt({
      request: expected(request, settings),
      pair,
      upstream,
      target,
      permit,
      endpoint: state.endpoints?.choose([], undefined, clock.now()),
      maxTokens: undefined,
      metered: new Meter().begin(name, settings.model),
      gateway: this.#world,
      totalAt: clock.now() + settings.timeoutMs,
      hasBlamed: false,
    })
    presence.begin(attempt)
    attempt.send({ requestId, clientRequestId: undefined, headers: [], context: undefined })
    const outcome = await attempt.outcome
    presence.done()
    if (outcome.kind === 'failed') throw failureOf(name, outcome.failure)
    const vector = answer()?.vectors[0]
    if (vector === undefined) throw new AuxiliaryError('error', `upstream ${name}: no vector came`)
    return Float32Array.from(vector)
  }
}

function failureOf(
  name: string,
  failure: { readonly class: string; readonly message: string },
): AuxiliaryError {
  const outcome = failure.class === 'timeout' ? 'timeout' : 'error'
  return new AuxiliaryError(outcome, `upstream ${name}: ${failure.class}: ${failure.message}`)
}

/** The same upstream and connections, for vectors of this model and purpose. */
function asking({ settings, state }: Target, model: string | undefined, inputType: string): Target {
  const isOther = model !== undefined && model !== settings.model
  const { embeddings: _, ...section } = settings.section
  const asked = {
    ...settings,
    inputType,
    // The length of another model's vectors is unknown.
    ...(isOther && { model, section }),
  }
  return new Target(asked, 1, state)
}

function requestOf(
  text: string,
  { settings, contextWindow }: Target,
  reading: Reading<EmbeddingsRequest>,
): EmbeddingsRequest {
  const most = Math.min(EMBEDDED_CHARACTERS_MAX, (contextWindow ?? Infinity) * CHARACTERS_PER_TOKEN)
  // A character of two units is not cut in half.
  const input = text.slice(0, most).toWellFormed()
  const bytes = Buffer.from(JSON.stringify({ model: settings.model, input }))
  return parseRequest(bytes, reading, Math.floor(Date.now() / 1000))
}

/** A pair that keeps the answer in the inner form, because no client reads it. */
function capturing({ settings: { provider } }: Target) {
  const operation = provider.operations.embeddings
  if (operation === undefined)
    throw new AuxiliaryError('error', `${provider.name} has no embeddings`)
  let answer: EmbeddingsAnswer | undefined
  // Every request of this pair is one of embeddings.
  const pair: Pair = {
    encode: operation.encode as Pair['encode'],
    decode(body, request, origin) {
      const decoded = operation.decode(body, request as EmbeddingsRequest, origin)
      if (decoded.kind === 'failure') return decoded
      answer = decoded.answer
      return { kind: 'body', body: '', usage: decoded.usage }
    },
    openStream: () => undefined,
  }
  return { pair, answer: () => answer }
}
