/** The configuration of a pod: the active document, the refused one, and the report on both. */

import type { Loaded } from '../config/apart/loaded.ts'
import type { PointedProblem } from '../config/judgement/pointer.ts'
import { type LoadedPayload, loadPayload, type PayloadContext } from '../delivery/payload.ts'
import type { ReadConfiguration } from '../delivery/signed-shape.ts'
import { type PodResponse, refuse } from './proof.ts'

/** Where a document came from. */
export type Origin = 'desired' | 'last_known_good' | 'push'

export interface Delivery {
  readonly document: ReadConfiguration
  /** SHA-256 of the document's bytes, hex. */
  readonly documentHash: string
  readonly origin: Origin
}

interface InForce extends Delivery {
  readonly payload: LoadedPayload
  readonly at: string
}

interface RejectedDelivery extends Delivery {
  readonly problems: readonly PointedProblem[]
  readonly files: readonly string[]
  readonly at: string
}

export interface PodConfigurationOptions extends Omit<PayloadContext, 'name'> {
  /** Activates the document as a whole or not at all. Resolves with its problems; with none if it is active. */
  activate(loaded: Loaded): Promise<readonly string[]>
}

export class PodConfiguration {
  readonly #options: PodConfigurationOptions
  #inForce: InForce | undefined
  #refused: RejectedDelivery | undefined
  /** The newest proven document, accepted or not; older documents are refused after it. */
  #newest = { sequence: 0, documentHash: '' }

  constructor(options: PodConfigurationOptions) {
    this.#options = options
  }

  get isInForce(): boolean {
    return this.#inForce !== undefined
  }

  /** The files that the documents refer to: their change may change the result. */
  get files(): readonly string[] {
    return [...(this.#inForce?.payload.files ?? []), ...(this.#refused?.files ?? [])]
  }

  async take(delivery: Delivery): Promise<PodResponse> {
    const { document, documentHash, origin } = delivery
    if (documentHash === this.#inForce?.documentHash) return this.#taken(this.#inForce)
    // The last good document is older than the desired one, so it is used only if none is active.
    const isAllThereIs = origin === 'last_known_good' && !this.isInForce
    const { sequence } = document
    const { sequence: have, documentHash: newest } = this.#newest
    if (isAllThereIs && sequence < have) return await this.#apply(delivery)
    if (sequence < have) {
      const message = `A newer document has been seen; send a sequence above ${have}.`
      return refuse(409, 'older_sequence', message, { have })
    }
    if (sequence === have && documentHash !== newest) {
      const message = `Another document has this sequence; send it with one above ${have}.`
      return refuse(409, 'sequence_conflict', message, { have })
    }
    this.#newest = { sequence, documentHash }
    return await this.#apply(delivery)
  }

  /** Checks the documents again after a Secret has changed. */
  async reload(): Promise<void> {
    if (this.#refused !== undefined) {
      const answer = await this.#apply(this.#refused)
      if (answer.status === 200) return
    }
    if (this.#inForce !== undefined) await this.#apply(this.#inForce)
  }

  status() {
    const inForce = this.#inForce
    const refused = this.#refused
    return {
      configuration: {
        hash: inForce?.payload.hash ?? null,
        documentHash: inForce?.documentHash ?? null,
        sequence: inForce?.document.sequence ?? 0,
        generation: inForce?.document.generation ?? 0,
        origin: inForce?.origin ?? null,
        at: inForce?.at ?? null,
        newestSequence: this.#newest.sequence,
        ...(refused && { lastError: lastErrorOf(refused) }),
      },
      unresolved: inForce?.payload.unresolved ?? [],
      ignored: inForce?.payload.ignored ?? [],
    }
  }

  async #apply(delivery: Delivery): Promise<PodResponse> {
    const { document, documentHash, origin } = delivery
    const name = `configuration ${document.sequence}`
    const payload = loadPayload(document.payload, { ...this.#options, name })
    const errors = await this.#options.activate(payload.loaded)
    const at = new Date(this.#options.host.now?.() ?? 0).toISOString()
    if (errors.length > 0) {
      const problems = payload.problems.length > 0 ? payload.problems : errors.map(placed)
      // The desired document is tried again when a secret changes, even if the active one fails as well.
      if (this.#refusedSequence <= document.sequence) {
        this.#refused = { document, documentHash, origin, problems, files: payload.files, at }
      }
      const message = 'The configuration was refused; the one before stays in force.'
      return refuse(422, 'invalid', message, { problems })
    }
    this.#inForce = { document, documentHash, origin, payload, at }
    if (this.#refusedSequence <= document.sequence) this.#refused = undefined
    return this.#taken(this.#inForce)
  }

  get #refusedSequence(): number {
    return this.#refused?.document.sequence ?? 0
  }

  #taken({ document, payload }: InForce): PodResponse {
    const { sequence, generation } = document
    const { hash, ignored, unresolved } = payload
    return { status: 200, body: { hash, sequence, generation, ignored, unresolved } }
  }
}

/** A refusal by the active configuration names its field and the fix; any other is unexpected. */
function placed(error: string): PointedProblem {
  const [, place, message] = /^(gw(?:\.\w+)+) (.+)$/s.exec(error) ?? []
  if (place !== undefined && message !== undefined) {
    return { pointer: `/${place.replaceAll('.', '/')}`, message, fix: '' }
  }
  const fix =
    'Report this to the maintainers of the gateway; an earlier check should have found it.'
  return { pointer: '', message: error, fix }
}

function lastErrorOf({ document, documentHash, problems, at }: RejectedDelivery) {
  return {
    sequence: document.sequence,
    documentHash,
    generation: document.generation,
    problems,
    at,
  }
}
