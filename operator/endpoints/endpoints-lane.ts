/** Delivers the endpoints of one gateway: signs them, sends them to its pods, and stores them for new pods. */

import { proofOf } from '../../dataplane/delivery/push-proof.ts'
import { type EndpointsDocument, sign } from '../../dataplane/delivery/signed.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { ENDPOINTS_MAX, ENDPOINTS_OF_ALL_MAX } from '../../dataplane/schema/constants.ts'
import {
  DocumentLane,
  type LaneState,
  type LinkTimings,
  PENDING,
  refused,
} from '../delivery/pod-lane.ts'
import { jsonOf, number } from '../delivery/pod-reports.ts'
import type { PodTarget } from '../delivery/pusher.ts'
import { isBelievable } from '../delivery/sequences.ts'
import type { SigningKeys } from '../delivery/signing-keys.ts'
import type { ApiClient } from '../kube/api.ts'
import { isOwnedBy, MANAGER, metadataOf, names } from '../kube/names.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { Transport } from '../kube/transport.ts'
import { messageOf } from '../log.ts'

export type Lists = Pick<EndpointsDocument, 'upstreams' | 'unknown' | 'zones'>

export interface EndpointsLaneOptions {
  readonly api: Pick<ApiClient, 'get' | 'apply'>
  readonly transport: Pick<Transport, 'call'>
  readonly random: () => number
  readonly wallClock: () => number
  readonly signingKeys: () => SigningKeys
  readonly onError: (message: string) => void
  readonly onPush: (result: string, seconds: number) => void
  /** `refused` has changed. */
  readonly onTrouble: () => void
}

/** Slices change one by one as a Deployment rolls. */
const MERGE_MS = 100
const STORE_MS = 10_000
/** Interval after which the same document is sent again, in case a push was lost. */
const REPEAT_MS = 30_000
/** Longest wait of a new operator for lists that it does not know yet. */
const SETTLE_MS = 10_000
const DEADLINE_MS = 8000
const TIMINGS: Pick<LinkTimings, 'backoffMs' | 'backoffMsMax'> = {
  backoffMs: 250,
  backoffMsMax: 10_000,
}

interface Outgoing {
  readonly sequence: number
  readonly keyId: string
  readonly text: string
  readonly proof: Readonly<Record<string, string>>
}

export class EndpointsLane {
  readonly #options: EndpointsLaneOptions
  readonly #listsNow: () => Lists
  readonly #closing = new AbortController()
  readonly #pods = new Map<string, DocumentLane>()
  #gateway: KubeObject
  #content = ''
  #document: Outgoing | undefined
  #sequence = 0
  #merge: NodeJS.Timeout | undefined
  #settle: NodeJS.Timeout | undefined
  #store: NodeJS.Timeout | undefined
  #storedAt = Number.NEGATIVE_INFINITY
  readonly #repeat: NodeJS.Timeout
  readonly #settledAt: number
  #refused: string | undefined
  /** Refusals by pod. */
  readonly #refusals = new Map<string, string>()

  /** `lists`: returns the present lists of the slices. */
  constructor(gateway: KubeObject, lists: () => Lists, options: EndpointsLaneOptions) {
    this.#gateway = gateway
    this.#listsNow = lists
    this.#options = options
    this.#settledAt = options.wallClock() + SETTLE_MS
    this.#repeat = setInterval(() => this.#sendAll(), REPEAT_MS)
  }

  /** Sends to these pods from now on. */
  program(gateway: KubeObject, targets: readonly PodTarget[]): void {
    this.#gateway = gateway
    const named = new Set(targets.map(({ uid, origin }) => `${uid} ${origin}`))
    for (const [id, lane] of this.#pods) {
      if (named.has(id)) continue
      lane.close()
      this.#pods.delete(id)
      this.#refusals.delete(id.slice(id.indexOf(' ') + 1))
    }
    for (const { uid, origin } of targets) {
      const id = `${uid} ${origin}`
      if (this.#pods.has(id)) continue
      const lane = this.#laneTo(origin)
      this.#pods.set(id, lane)
      if (this.#document !== undefined) lane.begin()
    }
    this.changed()
  }

  changed(): void {
    this.#merge ??= setTimeout(() => {
      this.#merge = undefined
      this.#decide()
    }, MERGE_MS)
  }

  /** Why the newest list is not active, here or in a pod. */
  get refused(): string | undefined {
    const [byPod] = this.#refusals.values()
    return this.#refused ?? byPod
  }

  close(): void {
    clearTimeout(this.#merge)
    clearTimeout(this.#store)
    clearTimeout(this.#settle)
    clearInterval(this.#repeat)
    this.#closing.abort()
    for (const lane of this.#pods.values()) lane.close()
  }

  #decide(): void {
    const lists = this.#listsNow()
    if (this.#isUnsettled(lists)) return
    const problem = problemOf(lists.upstreams)
    this.#refuse(problem)
    if (problem !== undefined) return
    const content = JSON.stringify(lists)
    const { keyId } = this.#options.signingKeys()
    if (content === this.#content && keyId === this.#document?.keyId) return
    // Nothing has been sent, and there is nothing to send.
    if (lists.upstreams.length === 0 && this.#document === undefined) return
    this.#content = content
    this.#sign(lists)
  }

  /** Lists that a new operator does not know yet must not be missing in the stored document. */
  #isUnsettled({ unknown = [] }: Lists): boolean {
    const leftMs = this.#settledAt - this.#options.wallClock()
    if (unknown.length === 0 || leftMs <= 0 || this.#document !== undefined) return false
    this.#settle ??= setTimeout(() => this.changed(), leftMs)
    return true
  }

  #refuse(problem: string | undefined): void {
    if (problem === this.#refused) return
    this.#refused = problem
    const kept = 'The pods keep their present endpoints.'
    if (problem !== undefined) this.#options.onError(`${keyOf(this.#gateway)}: ${problem} ${kept}`)
    this.#options.onTrouble()
  }

  /** The number is the time: it rises over restarts of the operator, without a stored value. */
  #sign(lists: Lists): void {
    const { signingKeys, wallClock } = this.#options
    const { uid = '', namespace = '', name } = this.#gateway.metadata
    this.#sequence = Math.max(this.#sequence + 1, wallClock())
    const gateway = { uid, namespace, name }
    const sequence = this.#sequence
    const keys = signingKeys()
    const document = { kind: 'Endpoints', gateway, sequence, ...lists } as const
    const text = JSON.stringify(sign(document, keys.privateKey))
    const proof = proofOf(text, { path: '/endpoints', uid }, keys)
    this.#document = { sequence, keyId: keys.keyId, text, proof }
    this.#sendAll()
    this.#planStore()
  }

  #sendAll(): void {
    if (this.#document === undefined) return
    for (const lane of this.#pods.values()) lane.begin()
  }

  #laneTo(origin: string): DocumentLane {
    const lane: DocumentLane = new DocumentLane({
      random: this.#options.random,
      timings: TIMINGS,
      attempt: () => this.#push(origin),
      onChange: () => this.#note(origin, lane.state),
    })
    return lane
  }

  #note(origin: string, { state, error = '' }: LaneState): void {
    const before = this.#refusals.get(origin)
    if (state === 'rejected') this.#refusals.set(origin, error)
    else if (state === 'acknowledged') this.#refusals.delete(origin)
    if (this.#refusals.get(origin) !== before) this.#options.onTrouble()
  }

  async #push(origin: string): Promise<LaneState> {
    const document = this.#document
    if (document === undefined) return PENDING
    const { transport, onPush } = this.#options
    const started = performance.now()
    let result = 'unreachable'
    try {
      const answer = await transport.call({
        origin,
        method: 'PUT',
        path: '/endpoints',
        headers: { 'content-type': 'application/json', ...document.proof },
        body: document.text,
        deadlineMs: DEADLINE_MS,
        signal: this.#closing.signal,
      })
      if (answer.status === 503) throw new Error('the pod is busy')
      const state = this.#judge(answer.status, jsonOf(answer), document)
      result = state.state
      return state
    } finally {
      onPush(result, (performance.now() - started) / 1000)
    }
  }

  #judge(status: number, body: unknown, { sequence }: Outgoing): LaneState {
    if (status === 200) return { state: 'acknowledged' }
    if (status !== 409) {
      const state = refused(status, body)
      // The pod's mounts are renewed soon, so the push is repeated.
      return state.isUntrusted ? { ...state, state: 'unreachable' } : state
    }
    const have = number(valueBelow(body, 'have'))
    if (!isBelievable(have, sequence)) return refused(status, body)
    // An operator with a fast clock has sent it.
    if (have >= this.#sequence) {
      this.#sequence = have
      this.#sign(this.#listsNow())
    }
    return PENDING
  }

  #planStore(): void {
    const dueMs = Math.max(0, this.#storedAt + STORE_MS - this.#options.wallClock())
    this.#store ??= setTimeout(() => {
      this.#store = undefined
      this.#storedAt = this.#options.wallClock()
      this.#write().catch((error: unknown) => {
        this.#options.onError(`${keyOf(this.#gateway)}: ${messageOf(error)}`)
        this.#planStore()
      })
    }, dueMs)
  }

  async #write(): Promise<void> {
    if (this.#document === undefined || this.#closing.signal.aborted) return
    const { api } = this.#options
    const name = names.endpoints(this.#gateway.metadata.name)
    const metadata = metadataOf(this.#gateway, name)
    const found = await api.get(RESOURCES.configMaps, { namespace: metadata.namespace, name })
    if (found !== undefined && !isOwnedBy(found, this.#gateway))
      throw new Error(`ConfigMap ${name} exists and does not belong to this gateway`)
    const data = { 'endpoints.json': this.#document.text }
    await api.apply(RESOURCES.configMaps, { metadata, data }, { manager: MANAGER })
  }
}

function problemOf(lists: Lists['upstreams']): string | undefined {
  const large = lists.find(({ endpoints }) => endpoints.length > ENDPOINTS_MAX)
  if (large !== undefined)
    return `Upstream "${large.name}" has ${large.endpoints.length} endpoints; ${ENDPOINTS_MAX} are the most.`
  const count = lists.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
  if (count <= ENDPOINTS_OF_ALL_MAX) return undefined
  return `There are ${count} endpoints; ${ENDPOINTS_OF_ALL_MAX} are the most of one gateway.`
}
