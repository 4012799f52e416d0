/** Writes an Event for each change of the status that a user may want to see. */
import type { Condition } from '../../crds/conditions.ts'
import type { ApiClient } from './api.ts'
import { MANAGER } from './names.ts'
import { type KubeObject, RESOURCES } from './objects.ts'

export interface EventOptions {
  readonly api: Pick<ApiClient, 'create'>
  readonly instance: string
  readonly wallClock: () => number
  readonly newId: () => string
  readonly onError: (error: unknown) => void
}

const KEY = RESOURCES.gatewayKeys.kind
/** The API server counts bytes, and refuses what is longer. */
const NOTE_BYTES_MAX = 1024
/** A GatewayKey may have the longest name that there is, and its event adds to it. */
const NAME_LENGTH_MAX = 240
/** An event with the same text about the same object is not repeated within this time. */
const REPEAT_MS = 5 * 60_000
const REMEMBERED_MAX = 10_000

const REASONS: Readonly<Record<string, { readonly True?: string; readonly False?: string }>> = {
  Accepted: { True: 'ConfigAccepted', False: 'ConfigRejected' },
  ResolvedRefs: { False: 'RefNotResolved' },
  WorkloadAvailable: { True: 'WorkloadAvailable' },
  Programmed: { True: 'Programmed' },
}

/** Reasons of a False condition that deserve an Event; a rollout under way does not. */
const FAILURES: Readonly<Record<string, string>> = {
  Rejected: 'ConfigNacked',
  PodUnreachable: 'ConfigPushFailed',
  Conflict: 'WorkloadConflict',
  ApplyFailed: 'WorkloadApplyFailed',
}

/** For a GatewayKey, by the reason of its Ready condition; a return to True is news too. */
const OF_KEYS: Readonly<Record<string, string>> = {
  Ready: 'KeyReady',
  RouteNotFound: 'RouteNotFound',
  GatewayNotFound: 'GatewayNotFound',
  NotPermitted: 'KeyNotPermitted',
  DuplicateHash: 'KeyDuplicate',
  InvalidSpec: 'KeyInvalid',
  Revoked: 'KeyRevoked',
  Rotated: 'KeyRotated',
  Expired: 'KeyExpired',
}

/** Events of changes that the user intended. */
const INTENDED = new Set(['KeyReady', 'KeyRevoked', 'KeyRotated'])

/** Reasons of a True Degraded that need a person, reported at their start. */
const DEGRADATIONS = new Set(['SecretUnusable', 'NoEndpoints', 'CredentialRejected'])

export class Events {
  readonly #options: EventOptions
  readonly #announced = new Map<string, number>()

  constructor(options: EventOptions) {
    this.#options = options
  }

  tellOfChanges(
    object: KubeObject,
    before: readonly Condition[],
    after: readonly Condition[],
  ): void {
    for (const condition of after) {
      const { type, status, reason, message } = condition
      const known = before.find((one) => one.type === type)
      if (known?.status === status && known.reason === reason) continue
      if (object.kind === KEY) {
        const ofKey = type === 'Ready' ? OF_KEYS[reason] : undefined
        if (ofKey !== undefined) {
          this.#tell(object, { reason: ofKey, note: message, isWarning: !INTENDED.has(ofKey) })
        }
        continue
      }
      if (type === 'Degraded') {
        if (status === 'True' && DEGRADATIONS.has(reason)) {
          this.#tell(object, { reason, note: message, isWarning: true })
        }
        continue
      }
      const announced =
        FAILURES[reason] ?? (status === 'Unknown' ? undefined : REASONS[type]?.[status])
      if (announced === undefined || type === 'Ready') continue
      this.#tell(object, { reason: announced, note: message, isWarning: status === 'False' })
    }
  }

  /** The operator reverts foreign changes of a gateway's objects. */
  tellOfEdit(gateway: KubeObject, note: string): void {
    this.#tell(gateway, { reason: 'EditReverted', note, isWarning: true })
  }

  #tell(object: KubeObject, event: { reason: string; note: string; isWarning: boolean }): void {
    const { api, instance, wallClock, newId, onError } = this.#options
    const now = wallClock()
    const { uid, name, namespace } = object.metadata
    const id = `${uid} ${event.reason} ${event.note}`
    if (now - (this.#announced.get(id) ?? 0) < REPEAT_MS) return
    if (this.#announced.size >= REMEMBERED_MAX) this.#announced.clear()
    this.#announced.set(id, now)
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: {
        name: `${name.slice(0, NAME_LENGTH_MAX).replace(/[-.]+$/, '')}.${newId()}`,
        namespace: namespace ?? 'default',
      },
      eventTime: new Date(now).toISOString().replace('Z', '000Z'),
      reportingController: MANAGER,
      reportingInstance: instance.slice(0, 128),
      action: 'Reconcile',
      reason: event.reason,
      note: shortened(event.note),
      type: event.isWarning ? 'Warning' : 'Normal',
      regarding: {
        apiVersion: object.apiVersion ?? 'inference.gw/v1',
        kind: object.kind ?? 'GatewayConfig',
        ...(namespace === undefined ? {} : { namespace }),
        name,
        ...(uid === undefined ? {} : { uid }),
      },
    }
    // Events are not awaited: a lost one matters less than a delay of the reconcile.
    api.create(RESOURCES.events, body, MANAGER).catch(onError)
  }
}

/** Cut between characters. */
function shortened(note: string): string {
  const bytes = Buffer.from(note)
  if (bytes.length <= NOTE_BYTES_MAX) return note
  return bytes
    .subarray(0, NOTE_BYTES_MAX)
    .toString()
    .replace(/\uFFFD$/, '')
}
