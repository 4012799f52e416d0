/**
 * One attempt that needs several calls, because the upstream accepts fewer inputs per call. All calls succeed or the
 * attempt fails.
 */

import { malformed } from '../../providers/failures/classify.ts'
import type { Continued } from '../../telemetry/correlation.ts'
import { factsOf } from '../../translation/translated.ts'
import type { AnswerFacts } from '../../wire/answer-facts.ts'
import type { Dialect } from '../../wire/dialect.ts'
import type { EmbeddingsAnswer, ModelRequest, Usage } from '../../wire/inner-form.ts'
import type { ProviderOperation, WrittenRequest } from '../../wire/provider.ts'
import type { Encoded } from '../encoding/pool-request.ts'
import { expected } from '../live/vectors.ts'
import { Attempt } from './attempt.ts'
import type { AttemptParts, Outcome } from './parts.ts'

/** The wires of a batch: the answers of all calls become one answer. */
export interface BatchWires {
  readonly dialect: Dialect<'embeddings'>
  readonly operation: ProviderOperation<'embeddings'>
}

type Calls = readonly Pick<Encoded<WrittenRequest>, 'request' | 'upstream'>[]

export class Batch {
  readonly outcome: Promise<Outcome>
  readonly #parts: AttemptParts
  readonly #wires: BatchWires
  readonly #calls: Calls
  readonly #answers: EmbeddingsAnswer[] = []
  #resolve: (outcome: Outcome) => void = () => {}
  #present: Attempt | undefined
  #hasLeft = false

  constructor(parts: AttemptParts, calls: Calls, wires: BatchWires) {
    this.#parts = parts
    this.#calls = calls
    this.#wires = wires
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  send(ids: Continued): void {
    this.#run(ids)
      .finally(() => this.#parts.place?.release())
      .then(this.#resolve, () =>
        this.#resolve({ kind: 'failed', failure: malformed('The answer cannot be translated.') }),
      )
  }

  leave(): void {
    this.#hasLeft = true
    this.#present?.leave()
  }

  /** Headers of the last call. */
  get upstreamRequestId(): string | undefined {
    return this.#present?.upstreamRequestId
  }

  get upstreamLimits(): Readonly<Record<string, string>> | undefined {
    return this.#present?.upstreamLimits
  }

  get facts(): AnswerFacts | undefined {
    return this.#present?.facts
  }

  async #run(ids: Continued): Promise<Outcome> {
    for (const [index, call] of this.#calls.entries()) {
      const outcome = await this.#ask(call, index, ids)
      if (outcome.kind === 'failed' && index > 0)
        return { kind: 'failed', failure: { ...outcome.failure, isUnreached: false } }
      if (outcome.kind !== 'whole') return outcome
      if (this.#hasLeft) return { kind: 'left' }
    }
    return this.#joined()
  }

  async #ask(call: Calls[number], index: number, ids: Continued): Promise<Outcome> {
    const { target, gateway, metered, permit: first } = this.#parts
    const permit = index === 0 ? first : target.state.breaker.permit(gateway.clock.now())
    if (permit === undefined)
      return { kind: 'failed', failure: { class: 'connect', message: 'its breaker is open' } }
    const own = metered.ofCall()
    const request = expected(call.request, target.settings)
    const pair = { decode: this.#decode.bind(this), openStream: () => undefined }
    const { upstream } = call
    // The place is that of all calls.
    const parts = { ...this.#parts, request, upstream, pair, permit, metered: own }
    const one = new Attempt({ ...parts, place: undefined })
    this.#present = one
    one.send(ids)
    const outcome = await one.outcome
    // Answered calls are charged even if the batch fails.
    const used = own.usage ?? (own.hasCost ? estimateOf(request) : undefined)
    if (used !== undefined) metered.usage = sumOf(metered.usage, used)
    return outcome
  }

  #decode(...asked: Parameters<BatchWires['operation']['decode']>) {
    const decoded = this.#wires.operation.decode(...asked)
    if (decoded.kind === 'failure') return decoded
    this.#answers.push(decoded.answer)
    const facts = factsOf(decoded.answer, { origin: asked[2], operation: this.#wires.operation })
    return { kind: 'body', body: '', usage: decoded.usage, facts } as const
  }

  #joined(): Outcome {
    const [{ model } = { model: '' }] = this.#answers
    const vectors = this.#answers.flatMap((answer) => answer.vectors)
    const [{ length } = []] = vectors
    if (vectors.some((vector) => vector.length !== length))
      return {
        kind: 'failed',
        failure: malformed('The upstream answered with vectors of several lengths.'),
      }
    const { metered, request } = this.#parts
    if (request.operation !== 'embeddings') throw new Error('only vectors come in batches')
    const written = this.#wires.dialect.writeAnswer({ model, vectors }, metered.usage, request)
    return { kind: 'whole', body: JSON.stringify(written) }
  }
}

/** Only embeddings come in batches. Vectors have no text, so there is nothing to inspect. */
export function batchOf(parts: AttemptParts, calls: Calls, dialect: Dialect): Batch {
  const { embeddings: operation } = parts.target.settings.provider.operations
  if (dialect.operation !== 'embeddings' || operation === undefined)
    throw new Error('only embeddings come in batches')
  return new Batch(parts, calls, { dialect: dialect as Dialect<'embeddings'>, operation })
}

function estimateOf(request: ModelRequest): Usage | undefined {
  if (request.operation !== 'embeddings') return undefined
  return { ...NOTHING, promptTokens: request.inputTokens.sum, estimated: true }
}

const NOTHING: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
}

function sumOf(some: Usage = NOTHING, more: Usage): Usage {
  return {
    ...NOTHING,
    promptTokens: some.promptTokens + more.promptTokens,
    estimated: some.estimated || more.estimated,
  }
}
