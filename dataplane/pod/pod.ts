/** Receives documents in a pod, from the mounted bundle and from the push port, one at a time. */

import { VERSION } from '../base/version.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import type { Host } from '../config/document/references.ts'
import { reportedCertificate } from '../config/listener-certificate.ts'
import {
  type BundlePart,
  fileOfPart,
  fingerprintOf,
  readMounted,
  readTrust,
} from '../delivery/bundle.ts'
import { judgeProof } from '../delivery/push-proof.ts'
import {
  readConfigurationDocument,
  readEndpointsDocument,
  readKeysDocument,
} from '../delivery/signed-shape.ts'
import type { Activation } from '../gateway/activation.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Log } from '../telemetry/log.ts'
import type { PushedEndpoints } from '../upstream/endpoints/pushed.ts'
import { type Origin, PodConfiguration } from './pod-configuration.ts'
import { PodEndpoints } from './pod-endpoints.ts'
import { PodKeys } from './pod-keys.ts'
import { type PodResponse, prove, refuseProof } from './proof.ts'
import { refusedCredentials } from './refused-credentials.ts'

/** Interval of the check of mounted files: a mount swaps a link, and not every file system reports that. */
const LOOK_MS = 1000
/** Shortest interval between logged refusals, because any client of the port could fill the log. */
const LOG_MS = 1000

export interface PodOptions {
  readonly name: string
  /** The gateway whose pod this is. */
  readonly uid: string
  readonly bundleFolder: string
  readonly trustFolder: string
  readonly host: Host
  readonly log: Log
  activate(loaded: Loaded): Promise<readonly string[]>
}

export class Pod {
  readonly #options: PodOptions
  readonly #keys = new PodKeys()
  readonly #endpoints: PodEndpoints
  readonly #configuration: PodConfiguration
  readonly #seen = new Map<string, string>()
  #log: Log
  #gateway: Gateway | undefined
  #activation: Activation | undefined
  #last: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #mountFault: string | undefined
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(options: PodOptions) {
    const { host, activate, log } = options
    this.#options = options
    this.#log = log
    this.#endpoints = new PodEndpoints(options.name)
    this.#configuration = new PodConfiguration({ host, activate, keys: this.#keys.book.entries })
  }

  get hasKeys(): boolean {
    return this.#keys.sequence > 0
  }

  /** Sets the gateway that serves the accepted documents and logs for the pod. */
  serveWith(gateway: Gateway, activation: Activation): void {
    this.#gateway = gateway
    this.#activation = activation
    this.#log = gateway.log
    gateway.lacksKeys = !this.hasKeys
  }

  /**
   * Reads the mounted files: the newest keys, then the desired configuration, else the last good one. Continues to
   * watch the files.
   */
  async boot(): Promise<void> {
    for (const fault of readTrust(this.#options.trustFolder).faults) {
      this.#log.event('error', 'trust', `${fault}.`)
    }
    this.#hasChanged('files', this.#configuration.files)
    await this.#takeChanged()
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Whether these headers prove the following body, by its digest. */
  judgeProof(
    headers: Parameters<typeof judgeProof>[0],
    path: string,
  ): { readonly digest: string } | { readonly refusal: PodResponse } {
    const { uid, trustFolder } = this.#options
    const judged = judgeProof(headers, { path, uid }, () => readTrust(trustFolder).trust)
    if ('digest' in judged) return judged
    return { refusal: this.#refused(path.slice(1), refuseProof(judged)) }
  }

  async takeConfiguration(envelope: unknown, origin: Origin): Promise<PodResponse> {
    const proven = prove(envelope, { ...this.#options, read: readConfigurationDocument })
    if ('refusal' in proven) return this.#refused('configuration', proven.refusal)
    const answer = await this.#inTurn(() => this.#configuration.take({ ...proven, origin }))
    const { waitsForStart = [] } = this.#activation ?? {}
    if (answer.status === 200 && origin !== 'last_known_good') this.#mountFault = undefined
    // A mounted file follows the push by up to a minute; lines that the activation logs are not logged twice.
    const isUsual = answer.status === 409 && origin !== 'push'
    const isLogged = answer.status === 422 && this.#gateway !== undefined
    if (answer.status === 200) {
      // Its probes begin now, so the operator asks again soon.
      const verification = this.#gateway?.verifier?.report()
      const more = { waitsForStart, ...(verification && { verification }) }
      return { ...answer, body: { ...answer.body, ...more } }
    }
    if (isUsual || isLogged) return answer
    return this.#refused('configuration', answer)
  }

  async takeKeys(envelope: unknown, origin: 'mounted' | 'push'): Promise<PodResponse> {
    const proven = prove(envelope, { ...this.#options, read: readKeysDocument })
    if ('refusal' in proven) return this.#refused('keys', proven.refusal)
    const { document, documentHash } = proven
    let had = 0
    const answer = await this.#inTurn(() => {
      had = this.#keys.sequence
      return this.#keys.take(document, documentHash)
    })
    if (answer.status === 409 && origin === 'mounted') return answer
    if (answer.status !== 200) return this.#refused('keys', answer)
    if (this.#gateway !== undefined) this.#gateway.lacksKeys = false
    // The same keys arrive twice, pushed and mounted.
    if (this.#keys.sequence !== had)
      this.#log.event('info', 'keys_reload', 'The keys were taken.', { ...answer.body })
    return answer
  }

  /** The endpoints of the gateway's upstreams. */
  get pushedEndpoints(): PushedEndpoints {
    return this.#endpoints.pushed
  }

  /** Accepted at once: they need no check and name no file. */
  takeEndpoints(envelope: unknown, origin: 'mounted' | 'push' = 'push'): PodResponse {
    const proven = prove(envelope, { ...this.#options, read: readEndpointsDocument })
    if ('refusal' in proven) return this.#refused('endpoints', proven.refusal)
    const answer = this.#endpoints.take(proven.document, proven.documentHash)
    const isUsual = answer.status === 200 || (answer.status === 409 && origin === 'mounted')
    return isUsual ? answer : this.#refused('endpoints', answer)
  }

  get isReady(): boolean {
    return this.#gateway !== undefined && this.hasKeys && !this.#gateway.draining
  }

  status() {
    const { name, uid } = this.#options
    const draining = this.#gateway?.draining ?? false
    const { configuration, unresolved, ignored } = this.#configuration.status()
    return {
      ready: this.isReady,
      draining,
      version: VERSION,
      pod: name,
      gateway: { uid },
      configuration: {
        ...configuration,
        ...(this.#mountFault !== undefined && { mountFault: this.#mountFault }),
      },
      keys: this.#keys.status(),
      endpoints: this.#endpoints.status(),
      unresolved,
      ignored,
      waitsForStart: this.#activation?.waitsForStart ?? [],
      store: this.#storeStatus(),
      rollouts: this.#gateway?.rollouts.report() ?? [],
      refusedCredentials: this.#gateway === undefined ? [] : refusedCredentials(this.#gateway),
      ...(this.#gateway?.verifier && { verification: this.#gateway.verifier.report() ?? null }),
      ...(this.#gateway && reportedCertificate(this.#gateway.active.snapshot.section)),
    }
  }

  /** Omits the address of the store, which readers of this status do not need. */
  #storeStatus() {
    const { backend, state, fail_open } = this.#gateway?.storeStatus() ?? {}
    return { backend, state, fail_open }
  }

  /** An unexpected error ends neither the process nor the active configuration. */
  noteMistake(error: unknown): void {
    const stack = error instanceof Error ? error.stack : String(error)
    this.#log.event('error', 'internal_error', 'A document could not be taken.', { stack })
  }

  #look(): void {
    this.#takeChanged().catch((error: unknown) => this.noteMistake(error))
  }

  async #takeChanged(): Promise<void> {
    if (this.#partChanged('endpoints')) await this.#takeMounted('endpoints')
    if (this.#partChanged('keys')) await this.#takeMounted('keys')
    if (this.#partChanged('desired')) await this.#takeMounted('desired')
    const isNewLast = this.#partChanged('lastKnownGood')
    if (isNewLast && !this.#configuration.isInForce) await this.#takeMounted('lastKnownGood')
    if (!this.#hasChanged('files', this.#configuration.files)) return
    // Also once after every document that refers to other files: they may have changed meanwhile.
    await this.#inTurn(() => this.#configuration.reload())
    if (!this.#configuration.isInForce) await this.#takeMounted('lastKnownGood')
  }

  async #takeMounted(part: BundlePart): Promise<void> {
    const mounted = await readMounted(this.#options.bundleFolder, part)
    if (mounted === undefined) return
    if ('fault' in mounted) {
      if (part !== 'keys' && part !== 'endpoints') this.#mountFault = mounted.fault
      this.#log.event('error', 'config_reload', `${mounted.fault}.`)
      return
    }
    const origin = part === 'desired' ? 'desired' : 'last_known_good'
    if (part === 'keys') await this.takeKeys(mounted.envelope, 'mounted')
    else if (part === 'endpoints') this.takeEndpoints(mounted.envelope, 'mounted')
    else await this.takeConfiguration(mounted.envelope, origin)
  }

  #partChanged(part: BundlePart): boolean {
    return this.#hasChanged(part, [fileOfPart(this.#options.bundleFolder, part)])
  }

  /** Checks before the files are read, so that a change in between is found the next time. */
  #hasChanged(what: string, files: readonly string[]): boolean {
    const fingerprint = fingerprintOf(files)
    const hasChanged = this.#seen.get(what) !== fingerprint
    this.#seen.set(what, fingerprint)
    return hasChanged
  }

  /** Decides on documents one after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  #refused(what: string, answer: PodResponse): PodResponse {
    const { reason, message, problems } = answer.body
    const now = performance.now()
    if (now - this.#loggedAt < LOG_MS) return answer
    this.#loggedAt = now
    const shown = Array.isArray(problems) ? problems.slice(0, 10) : undefined
    this.#log.event('warn', 'document_refused', `A document of ${what} was refused: ${message}`, {
      reason,
      ...(shown && { problems: shown }),
    })
    return answer
  }
}
