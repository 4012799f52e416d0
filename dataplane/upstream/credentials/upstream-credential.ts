/** The fetched credential of one upstream, with its log lines and metrics. */
import { setTimeout as delay } from 'node:timers/promises'
import { timerMs } from '../../base/clock.ts'
import type { Presence } from '../../call/presence.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { breakerSettingsOf } from '../../connection/breaker.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type {
  CredentialSource,
  Environment,
  FetchedCredential,
} from '../../wire/credential-source.ts'
import type { Failure } from '../../wire/provider.ts'
import { UpstreamKeys } from './keys.ts'
import { CredentialRefusals } from './refusals.ts'
import {
  type CredentialState,
  FETCH_MS_MAX,
  type RenewalWorld,
  RenewedCredential,
} from './renewed-credential.ts'

export interface CredentialWorld extends Pick<RenewalWorld, 'clock' | 'random' | 'schedule'> {
  readonly env: Environment
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * The source of the credential, if requests do not carry the configured one unchanged. Undefined if they do, if a
 * configured header carries a credential, or if no route uses the upstream.
 */
export function sourceOf(
  settings: UpstreamSettings,
  env: Environment,
): CredentialSource | undefined {
  const { provider, headers, disabled } = settings
  const isCarried = ['authorization', provider.credentialHeader ?? ''].some((name) =>
    Object.hasOwn(headers, name),
  )
  if (disabled !== undefined || isCarried) return undefined
  return provider.openCredentials?.(settings, env)
}

/** The settings with the fetched credential, for providers and for the masking of texts. */
export function withCredential(
  settings: UpstreamSettings,
  { value, secrets = [value] }: FetchedCredential,
): UpstreamSettings {
  const others = [...secrets, settings.credential]
  return { ...settings, credential: value, isFetched: true, otherSecrets: others }
}

/** The settings with a credential that is fetched for only one request. */
export async function settingsFetched(
  settings: UpstreamSettings,
  source: CredentialSource,
): Promise<UpstreamSettings> {
  return withCredential(settings, await source.fetch(AbortSignal.timeout(FETCH_MS_MAX)))
}

export class UpstreamCredential {
  readonly #name: string
  readonly #world: CredentialWorld
  #renewed: RenewedCredential | undefined
  #openedWith = ''
  #sent = ''
  /** The answers of the upstream to the credential, fetched or written. */
  readonly refusals = new CredentialRefusals()
  /** Present if the upstream has several keys. */
  #keys: UpstreamKeys | undefined

  constructor(name: string, world: CredentialWorld) {
    this.#name = name
    this.#world = world
  }

  /** undefined if the configured credential is sent unchanged. */
  get renewed(): RenewedCredential | undefined {
    return this.#renewed
  }

  /** undefined if the upstream has one key or none. */
  get keys(): UpstreamKeys | undefined {
    return this.#keys
  }

  /** The refusals that are known, with the index of the key if there are several. */
  get rejections(): readonly { readonly status: number; readonly key?: number }[] {
    if (this.#keys !== undefined) return this.#keys.refused
    const { status } = this.refusals
    return status === undefined ? [] : [{ status }]
  }

  /** The status with which the upstream refuses every key; undefined if it may accept one. */
  get refusedStatus(): number | undefined {
    if (this.#keys === undefined) return this.refusals.status
    return this.#keys.areAllRefused ? this.#keys.refused[0]?.status : undefined
  }

  /** The credential is kept until its settings change. */
  configure(settings: UpstreamSettings): void {
    const sent = JSON.stringify([settings.credential, settings.headers, settings.keys])
    const isSame = sent === this.#sent
    if (!isSame) this.refusals.clear()
    this.#sent = sent
    this.#configureKeys(settings, isSame)
    const opening = openingOf(settings)
    if (opening === this.#openedWith) return
    this.stop()
    this.#openedWith = opening
    const source = sourceOf(settings, this.#world.env)
    this.#renewed = source && this.#open(source)
    this.#world.metrics.credentialValid.retain('upstream', (name) => name !== this.#name)
    this.show()
  }

  /** Notes that the upstream refused this value. */
  refused(status: number, sent: string): void {
    this.refusals.refused(status)
    this.renewed?.refused(sent)
  }

  stop(): void {
    this.#renewed?.stop()
  }

  end(): void {
    this.#renewed?.end()
  }

  #configureKeys({ keys, section }: UpstreamSettings, isSame: boolean): void {
    const { clock, metrics } = this.#world
    const name = this.#name
    if (!isSame)
      for (const family of [metrics.keyRequests, metrics.keyResting])
        family.retain('upstream', (upstream) => upstream !== name)
    if (keys === undefined) {
      this.#keys = undefined
      return
    }
    this.#keys ??= new UpstreamKeys(clock, {
      used: (key) => void metrics.keyRequests.at(name, String(key)).value++,
      resting(key, rests) {
        metrics.keyResting.at(name, String(key)).value = rests ? 1 : 0
      },
    })
    this.#keys.configure(keys.length, breakerSettingsOf(section).openDurationMs, isSame)
    this.#keys.show()
  }

  /** A credential also expires without an event, by time alone. */
  show(): void {
    this.#keys?.show()
    if (this.#renewed === undefined) return
    const isHeld = this.#renewed.current !== undefined
    this.#world.metrics.credentialValid.at(this.#name).value = isHeld ? 1 : 0
  }

  #open(source: CredentialSource): RenewedCredential {
    const { clock, random, schedule, metrics } = this.#world
    const name = this.#name
    for (const result of ['success', 'failure']) metrics.credentialFetches.at(name, result)
    const renewed: RenewedCredential = new RenewedCredential(source, {
      clock,
      random,
      schedule,
      fetched: (ok) => {
        metrics.credentialFetches.at(name, ok ? 'success' : 'failure').value++
        this.show()
      },
      changed: (to) => this.#log(to, renewed),
    })
    return renewed
  }

  #log(to: CredentialState, { from, fault, current }: RenewedCredential): void {
    const [level, what] = WORDS[to]
    const message = `The credential of upstream "${this.#name}" ${what} from ${from}.`
    this.#world.log.event(level, 'credential', message, {
      upstream: this.#name,
      state: to,
      ...expiryOf(current),
      ...(fault !== undefined && { reason: fault }),
    })
  }
}

/** The failure of an attempt that was not sent because it had no credential. */
export function withoutCredential({ renewed }: UpstreamCredential): Failure {
  const fault = renewed?.fault ?? 'The credential was not fetched in time.'
  return {
    class: 'credential',
    message: `The credential could not be fetched from ${renewed?.from}: ${fault}`,
    shown: 'cannot be called: its credential could not be fetched',
  }
}

/** Resolves after the fetch, at the deadline, or when the client leaves. */
export async function fetchEnded(
  pending: Promise<void>,
  waitMs: number,
  presence: Presence,
): Promise<void> {
  const over = new AbortController()
  presence.begin({ leave: () => over.abort() })
  const timeUp = delay(timerMs(waitMs), undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([pending, timeUp])
  over.abort()
  presence.done()
}

const WORDS = {
  fetching: ['info', 'is being fetched'],
  valid: ['info', 'was fetched'],
  kept: ['warn', 'is still valid, but could not be renewed'],
  missing: ['error', 'could not be fetched'],
} as const satisfies Readonly<Record<CredentialState, readonly ['info' | 'warn' | 'error', string]>>

/** The credential in the status. */
export function credentialStatus({ renewed, keys }: UpstreamCredential) {
  if (keys !== undefined) return { keys: keys.list() }
  if (renewed === undefined) return {}
  const { from, state, fault, current } = renewed
  return {
    credential: {
      from,
      state,
      ...expiryOf(current),
      ...(fault !== undefined && { reason: fault }),
    },
  }
}

function expiryOf(held: FetchedCredential | undefined): { readonly expires_at?: string } {
  if (held?.expiresAtMs === undefined) return {}
  return { expires_at: new Date(held.expiresAtMs).toISOString() }
}

/** The settings that decide which credential is fetched. */
function openingOf(settings: UpstreamSettings): string {
  const { provider, credential, headers, disabled, origin } = settings
  const { region, project, apiVersion, deployment, model } = settings
  const place = [origin, region, project, apiVersion, deployment, model]
  return JSON.stringify([provider.name, credential, Object.keys(headers), disabled, place])
}
