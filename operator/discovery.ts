/** Discovers the optional kinds of the cluster, before the first gateway is built and again every minute. */
import { setTimeout as delay } from 'node:timers/promises'
import { isRecord, listBelow } from '../dataplane/json/values.ts'
import type { ApiClient } from './kube/api.ts'
import { RESOURCES, type Resource } from './kube/objects.ts'

export interface Platform {
  /** OpenShift assigns each namespace a range of users, and refuses pods with another one. */
  readonly assignsUsers: boolean
  /** The Gateway API is installed, and the operator may write its routes. */
  readonly hasHttpRoutes: boolean
  /** Whether the definition of TenantPolicies is installed, which is newer than the other two. */
  readonly hasTenantPolicies?: boolean
  /** InferencePools are installed, and the operator may read them. */
  readonly hasInferencePools?: boolean
}

export interface DiscoveryOptions {
  readonly api: Pick<ApiClient, 'read'>
  /** Whether the operator has the rights for routes. */
  readonly mayRoute: boolean
  /** Whether the operator has the rights for pools. */
  readonly mayPool?: boolean
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
  readonly lookMs?: number | undefined
}

const OPENSHIFT = 'security.openshift.io'
const LOOK_MS = 60_000
const RETRY_MS = 2000

export class Discovery {
  readonly #options: DiscoveryOptions
  readonly #stopping = new AbortController()
  #platform: Platform | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  /** Throws before `obtain` has resolved: pods of the wrong shape would be replaced at once. */
  get platform(): Platform {
    if (this.#platform === undefined)
      throw new Error('the cluster has not reported yet which kinds it serves')
    return this.#platform
  }

  /** Tries until the discovery succeeds or is stopped. */
  async obtain(): Promise<void> {
    const { signal } = this.#stopping
    while (this.#platform === undefined && !signal.aborted) {
      await this.look()
      if (this.#platform === undefined) {
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
    if (signal.aborted) return
    this.#timer ??= setInterval(() => void this.look(), this.#options.lookMs ?? LOOK_MS)
  }

  /** Keeps the last answer while the API server does not answer. */
  async look(): Promise<void> {
    const { onChange, onError } = this.#options
    try {
      const found = await this.#ask()
      const before = this.#platform
      this.#platform = found
      const isSame =
        before?.assignsUsers === found.assignsUsers &&
        before.hasHttpRoutes === found.hasHttpRoutes &&
        before.hasTenantPolicies === found.hasTenantPolicies &&
        before.hasInferencePools === found.hasInferencePools
      if (!isSame) onChange()
    } catch (error) {
      onError(error)
    }
  }

  stop(): void {
    this.#stopping.abort()
    clearInterval(this.#timer)
  }

  async #ask(): Promise<Platform> {
    const { api, mayRoute, mayPool = false } = this.#options
    const groups = recordsBelow(await api.read('/apis'), 'groups').flatMap((one) =>
      recordsBelow(one, 'versions').map(({ groupVersion }) => String(groupVersion)),
    )
    // The group may exist without the kind, because its definitions are installed one by one.
    const serves = async ({ group, version, kind }: Resource) => {
      if (!groups.includes(`${group}/${version}`)) return false
      const kinds = await api.read(`/apis/${group}/${version}`)
      return recordsBelow(kinds, 'resources').some((one) => one.kind === kind)
    }
    return {
      assignsUsers: groups.some((one) => one.startsWith(`${OPENSHIFT}/`)),
      hasHttpRoutes: mayRoute && (await serves(RESOURCES.httpRoutes)),
      hasTenantPolicies: await serves(RESOURCES.tenantPolicies),
      hasInferencePools: mayPool && (await serves(RESOURCES.inferencePools)),
    }
  }
}

function recordsBelow(value: unknown, member: string): Readonly<Record<string, unknown>>[] {
  return listBelow(value, member).filter(isRecord)
}
