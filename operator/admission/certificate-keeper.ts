/** Keeps the webhook's certificates in a Secret: every replica reads them; the leader renews them and publishes the authority. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus, NotLeaderError } from '../kube/api-error.ts'
import { MANAGED_LABEL, MANAGER } from '../kube/names.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'
import { messageOf } from '../log.ts'
import {
  bundleOf,
  type Certificates,
  pemsOf,
  readCertificates,
  renewed,
  secretDataOf,
} from './certificates.ts'

export interface CertificateKeeperOptions {
  readonly api: Pick<ApiClient, 'get' | 'create' | 'update' | 'apply'>
  readonly secret: { readonly namespace: string; readonly name: string }
  /** Name of the ValidatingWebhookConfiguration that receives the authority. */
  readonly configuration: string
  readonly hosts: readonly string[]
  readonly isLeading: () => boolean
  readonly wallClock: () => number
  /** Called when the server must present another certificate. */
  readonly onChange: (certificates: Certificates) => void
  readonly onError: (error: unknown) => void
  readonly timings?: KeeperTimings
}

export interface KeeperTimings {
  readonly lookMs: number
  /** Wait while there are no certificates yet, or after a failure. */
  readonly retryMs: number
}

export interface CertificateSource {
  start(): void
  /** Whether the webhook is ready for requests. */
  readonly hasLooked: boolean
  stop(): Promise<void>
}

export const KEEPER_TIMINGS: KeeperTimings = { lookMs: 60_000, retryMs: 2000 }

export class CertificateKeeper implements CertificateSource {
  readonly #options: CertificateKeeperOptions
  #served: Certificates | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #looking = Promise.resolve()
  #hasLooked = false
  #lastError: string | undefined

  constructor(options: CertificateKeeperOptions) {
    this.#options = options
  }

  start(): void {
    this.#looking = this.#lookOn()
  }

  /** Whether the Secret was read, empty or not. */
  get hasLooked(): boolean {
    return this.#hasLooked
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #lookOn(): Promise<void> {
    const error = await this.#look().then(
      () => undefined,
      (thrown: unknown) => this.#note(thrown),
    )
    if (this.#isStopped) return
    const { lookMs, retryMs } = this.#options.timings ?? KEEPER_TIMINGS
    const isGood = error === undefined && this.#served !== undefined
    this.#lastError = error
    this.#timer = setTimeout(() => this.start(), isGood ? lookMs : retryMs)
  }

  /** A repeated failure with the same text is logged once. */
  #note(error: unknown): string {
    const message = messageOf(error)
    // Another replica leads now, or was faster: the next check shows what it wrote.
    const isRace = error instanceof NotLeaderError || isStatus(error, 409)
    if (!isRace && message !== this.#lastError) this.#options.onError(error)
    return message
  }

  async #look(): Promise<void> {
    const { api, secret, isLeading } = this.#options
    const stored = await api.get(RESOURCES.secrets, secret)
    const found = stored && readCertificates(stored)
    // Presented before any write: a failure below must not delay certificates that another replica has renewed.
    if (found !== undefined) this.#serve(found)
    this.#hasLooked = true
    if (isLeading()) await this.#renew(stored, found)
  }

  async #renew(stored: KubeObject | undefined, found: Certificates | undefined): Promise<void> {
    const { api, configuration: name, hosts, wallClock } = this.#options
    const configuration = await api.get(RESOURCES.webhookConfigurations, { name })
    const bundles = webhooksOf(configuration).map(bundleIn)
    const isTrusted = (authority: string) =>
      bundles.length > 0 &&
      bundles.every((bundle) => pemsOf(bundle).some((pem) => pem.trim() === authority.trim()))
    const next = renewed(found, { hosts, now: wallClock(), isTrusted })
    if (next !== found) {
      await this.#store(stored, next)
      this.#serve(next)
    }
    if (configuration === undefined) {
      throw new Error(
        `there is no ValidatingWebhookConfiguration ${name}, so the API server never calls the webhook; ` +
          'create it, or leave out --webhook-port',
      )
    }
    if (bundles.some((bundle) => bundle !== bundleOf(next)))
      await this.#publish(configuration, next)
  }

  async #store(stored: KubeObject | undefined, certificates: Certificates): Promise<void> {
    const { api, secret } = this.#options
    const data = secretDataOf(certificates)
    // Sent with the version that was read, so that only one of two operators writes.
    if (stored !== undefined) {
      await api.update(RESOURCES.secrets, { ...stored, data }, MANAGER)
      return
    }
    const metadata = { ...secret, labels: { [MANAGED_LABEL]: MANAGER } }
    const made = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }
    await api.create(RESOURCES.secrets, made, MANAGER)
  }

  /** Writes the authority only; the rest of the configuration belongs to its author. */
  async #publish(configuration: KubeObject, certificates: Certificates): Promise<void> {
    const caBundle = Buffer.from(bundleOf(certificates)).toString('base64')
    const { name, uid } = configuration.metadata
    const webhooks = webhooksOf(configuration).map((webhook) => ({
      name: valueBelow(webhook, 'name'),
      clientConfig: { caBundle },
    }))
    const body = { metadata: { name, ...(uid && { uid }) }, webhooks }
    await this.#options.api.apply(RESOURCES.webhookConfigurations, body, { manager: MANAGER })
  }

  #serve(certificates: Certificates): void {
    const isSame = this.#served?.leaf.certificate === certificates.leaf.certificate
    this.#served = certificates
    if (!isSame) this.#options.onChange(certificates)
  }
}

function webhooksOf(configuration: KubeObject | undefined): readonly unknown[] {
  const webhooks = configuration?.webhooks
  return Array.isArray(webhooks) ? webhooks : []
}

function bundleIn(webhook: unknown): string {
  const encoded = valueBelow(webhook, 'clientConfig', 'caBundle')
  return typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString() : ''
}
