/**
 * An operator older than the resource types does not lead: it does not know their fields, and would roll pods to its
 * image.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from './kube/api.ts'
import { isStatus } from './kube/api-error.ts'
import { type KubeObject, RESOURCES } from './kube/objects.ts'
import { type Log, messageOf } from './log.ts'
import { TYPE_NAMES } from './rbac.ts'

export interface ServedTypesOptions {
  readonly api: Pick<ApiClient, 'get'>
  /** The release of this operator. */
  readonly version: string
  readonly log: Log
  readonly lookMs?: number | undefined
}

const VERSION_ANNOTATION = 'inference.gw/bundle-version'
/** Names the release to which a rollback is allowed; every other one stays refused. */
const DOWNGRADE_ANNOTATION = 'inference.gw/allow-downgrade'
const LOOK_MS = 5000

export class ServedTypes {
  readonly #options: ServedTypesOptions
  readonly #stopping = new AbortController()
  #fault: string | undefined

  constructor(options: ServedTypesOptions) {
    this.#options = options
  }

  /** Why this operator may not lead; absent while it may, or is not decided yet. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Resolves with true once no type is of a later release than this operator; with false if it is stopped before. */
  async fit(): Promise<boolean> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      if (await this.#look()) return !signal.aborted
      await delay(this.#options.lookMs ?? LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    return false
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #look(): Promise<boolean> {
    const { api, version, log } = this.#options
    try {
      const types = await Promise.all(
        TYPE_NAMES.map((name) => api.get(RESOURCES.definitions, { name })),
      )
      const fault = types.map((type) => faultOf(type, version)).find((one) => one !== undefined)
      if (fault !== undefined && fault !== this.#fault) log.event('error', 'types', fault)
      this.#fault = fault
      return fault === undefined
    } catch (error) {
      // Roles of an earlier release do not have this right.
      const isForbidden = isStatus(error, 403)
      const message = `The releases of the types are not known: ${messageOf(error)}`
      log.event('warn', 'types', message)
      return isForbidden
    }
  }
}

function faultOf(type: KubeObject | undefined, version: string): string | undefined {
  const annotations = type?.metadata.annotations ?? {}
  const served = annotations[VERSION_ANNOTATION]
  if (type === undefined || served === undefined || !isLater(served, version)) return undefined
  if (annotations[DOWNGRADE_ANNOTATION] === version) return undefined
  return [
    `The type ${type.metadata.name} is of release ${served}, and this operator of ${version}:`,
    'it takes no lease and changes nothing.',
    `Install the chart of ${served} or later with helm upgrade. To use this operator with later types, run:`,
    `kubectl annotate crd ${TYPE_NAMES.join(' ')} --overwrite ${DOWNGRADE_ANNOTATION}=${version}`,
  ].join(' ')
}

/** A version without three numbers is unreleased. */
function isLater(one: string, other: string): boolean {
  const [a, b] = [numbersOf(one), numbersOf(other)]
  if (a === undefined || b === undefined) return false
  const at = a.findIndex((number, index) => number !== b[index])
  return at !== -1 && (a[at] ?? 0) > (b[at] ?? 0)
}

function numbersOf(version: string): readonly number[] | undefined {
  const found = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?![\d.])/.exec(version)
  return found?.slice(1).map(Number)
}
