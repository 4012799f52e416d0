/**
 * A certificate of the webhook that another program makes and renews, in a mounted Secret that is read every minute.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeyedCertificate } from '../../dataplane/base/certificates/certificate.ts'
import { messageOf } from '../log.ts'
import type { CertificateSource, KeeperTimings } from './certificate-keeper.ts'

export interface MountedOptions {
  readonly folder: string
  /** The server must present another certificate. */
  readonly onChange: (certificate: KeyedCertificate) => void
  readonly onError: (error: unknown) => void
  readonly timings: KeeperTimings
}

export class MountedCertificate implements CertificateSource {
  readonly #options: MountedOptions
  #served: KeyedCertificate | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #looking = Promise.resolve()
  #lastError: string | undefined

  constructor(options: MountedOptions) {
    this.#options = options
  }

  /** Without a certificate the pod is not ready. */
  get hasLooked(): boolean {
    return this.#served !== undefined
  }

  start(): void {
    this.#looking = this.#look()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #look(): Promise<void> {
    const { folder, onChange, onError, timings } = this.#options
    let fault: string | undefined
    try {
      const found = await readPair(folder)
      const isSame = found.certificate === this.#served?.certificate
      this.#served = found
      if (!isSame) onChange(found)
    } catch (error) {
      fault = messageOf(error)
      // The present pair stays; a repeated failure with the same text is logged once.
      if (fault !== this.#lastError) onError(error)
    }
    this.#lastError = fault
    if (this.#isStopped) return
    const waitMs = fault === undefined ? timings.lookMs : timings.retryMs
    this.#timer = setTimeout(() => this.start(), waitMs)
  }
}

/** Both files of one version of the Secret. */
async function readPair(folder: string): Promise<KeyedCertificate> {
  const version = await realpath(join(folder, '..data')).catch(() => folder)
  const [certificate, key] = await Promise.all(
    ['tls.crt', 'tls.key'].map((name) => readFile(join(version, name), 'utf8')),
  )
  if (certificate === undefined || key === undefined) throw new Error('unreachable')
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
    throw new Error(`${folder}: tls.key is not the key of tls.crt; take both from one Secret`)
  return { certificate, key }
}
