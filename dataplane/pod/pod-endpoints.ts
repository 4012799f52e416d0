/**
 * The endpoints of a pod's upstreams: accepted in the order of their sequence, whole, in any state of the
 * configuration.
 */

import type { ReadEndpoints } from '../delivery/signed-shape.ts'
import { ENDPOINTS_MAX, ENDPOINTS_OF_ALL_MAX } from '../schema/constants.ts'
import { PushedEndpoints } from '../upstream/endpoints/pushed.ts'
import { type PodResponse, refuse } from './proof.ts'

export class PodEndpoints {
  readonly pushed = new PushedEndpoints()
  readonly #podName: string
  /** 0: none have arrived. */
  #sequence = 0
  #hash = ''
  #count = 0

  constructor(podName: string) {
    this.#podName = podName
  }

  take(document: ReadEndpoints, documentHash: string): PodResponse {
    const { sequence, upstreams, unknown = [], zones } = document
    if (documentHash === this.#hash) return this.#taken()
    const have = this.#sequence
    if (sequence <= have) {
      const reason = sequence === have ? 'sequence_conflict' : 'older_sequence'
      const message = `Newer endpoints are in force; send a sequence above ${have}.`
      return refuse(409, reason, message, { have })
    }
    const problem = problemOf(upstreams)
    if (problem !== undefined) return refuse(422, 'invalid', problem)
    this.#sequence = sequence
    this.#hash = documentHash
    this.#count = countOf(upstreams)
    const lists = new Map(upstreams.map(({ name, endpoints }) => [name, endpoints]))
    for (const name of unknown) {
      const kept = this.pushed.of(name)
      if (kept !== undefined && !lists.has(name)) lists.set(name, [...kept])
    }
    this.pushed.set(lists, zones?.[this.#podName])
    return this.#taken()
  }

  status() {
    return { sequence: this.#sequence, hash: this.#hash || null, count: this.#count }
  }

  #taken(): PodResponse {
    return { status: 200, body: this.status() }
  }
}

type Lists = ReadEndpoints['upstreams']

function countOf(upstreams: Lists): number {
  return upstreams.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
}

function problemOf(upstreams: Lists): string | undefined {
  const large = upstreams.find(({ endpoints }) => endpoints.length > ENDPOINTS_MAX)
  if (large !== undefined)
    return `Upstream "${large.name}" has ${large.endpoints.length} endpoints; ${ENDPOINTS_MAX} are the most.`
  const count = countOf(upstreams)
  if (count <= ENDPOINTS_OF_ALL_MAX) return undefined
  return `There are ${count} endpoints; ${ENDPOINTS_OF_ALL_MAX} are the most of one gateway.`
}
