/** Caches the last compilation of each gateway, and compiles again only after its inputs change. */
import { isDeepStrictEqual } from 'node:util'
import type { KeyRecord } from '../../dataplane/delivery/signed.ts'
import { hashOf } from '../../dataplane/delivery/signed.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'
import type { Index, ObjectStore } from '../kube/watch/store.ts'
import { type Compiled, combine, tenantsOf } from './compile.ts'
import { type CompiledKeys, compileKeys, gatewayOf, type KeyVerdict } from './compile-keys.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { asksForIssuerKeys, withIssuerKeys } from './issuers.ts'
import { isLarge, type JudgedWhole, judgeApart, judgeWhole } from './judge-apart.ts'
import type { PolicyVerdict } from './policy-verdict.ts'
import { gatewayOfPolicy } from './tenant-policies.ts'

interface Made {
  readonly uid: string | undefined
  readonly generation: number | undefined
  readonly keysVersion: number
  /** The keys of the cluster's issuer, unchanged; undefined if they are not needed. */
  readonly issuerVersion: string | undefined
  readonly compiled: Compiled
  /** By `namespace/name` of the TenantPolicy. */
  readonly policies: ReadonlyMap<string, PolicyVerdict>
  readonly at: number
}

export interface Compilation {
  readonly compiled: Compiled
  /** Whether the compilation is new. */
  readonly isNew: boolean
  /** Keys have changed since; they are compiled after this time. */
  readonly againMs?: number
}

/** Keys that change shortly after one another are compiled together. */
const KEYS_INTERVAL_MS = 500

/** The keys and policies of the cluster, by gateway. */
export interface Policed {
  readonly stores: Readonly<Record<'tenantPolicies' | 'gatewayKeys', ObjectStore>>
  readonly keysOf: Index
  readonly policiesOf: Index
}

export interface CompilationsOptions {
  readonly world: Policed
  readonly wallClock: () => number
  /** Called after a thread has judged this gateway, so that it is compiled again. */
  readonly onJudged: (gateway: string) => void
  readonly judgeApart?: typeof judgeApart
  readonly issuerKeys: Pick<IssuerKeys, 'keys' | 'version'>
}

interface JudgedApart {
  /** The generation and the tenants that were checked. */
  readonly version: string
  readonly of: string
  readonly judged: JudgedWhole
}

export class Compilations {
  readonly #options: CompilationsOptions
  readonly #world: Policed
  /** Results and jobs of the threads that check large gateways. */
  readonly #judged = new Map<string, JudgedApart>()
  readonly #asked = new Map<string, string>()
  #last: Promise<void> = Promise.resolve()
  readonly #wallClock: () => number
  readonly #made = new Map<string, Made>()
  readonly #keysVersions = new Map<string, number>()

  constructor(options: CompilationsOptions) {
    const { world, wallClock } = options
    this.#world = world
    this.#wallClock = wallClock
    this.#options = options
    world.stores.tenantPolicies.onChange((before, after) => {
      if (isSameSpec(before, after)) return
      for (const policy of [before, after]) {
        if (policy !== undefined) this.#bump(gatewayOfPolicy(policy))
      }
    })
    world.stores.gatewayKeys.onChange((before, after) => {
      if (isSameKey(before, after)) return
      for (const key of [before, after]) {
        if (key !== undefined) this.#bump(gatewayOf(key))
      }
    })
  }

  /** `isNew` if it was made just now. */
  of(gateway: KubeObject, keptKeys: readonly KeyRecord[] | undefined): Compilation {
    const key = keyOf(gateway)
    const { uid, generation } = gateway.metadata
    const keysVersion = this.#keysVersions.get(key) ?? 0
    const made = this.#made.get(key)
    const now = performance.now()
    const { issuerKeys } = this.#options
    const issuerVersion = asksForIssuerKeys(gateway.gw) ? issuerKeys.version : undefined
    const isSame = made?.uid === uid && made?.generation === generation
    if (made !== undefined && isSame && made.issuerVersion === issuerVersion) {
      const { compiled } = made
      if (made.keysVersion === keysVersion) return { compiled, isNew: false }
      const againMs = made.at + KEYS_INTERVAL_MS - now
      if (againMs > 0) return { compiled, isNew: false, againMs }
    }
    const keys = compileKeys({
      gateway,
      keys: this.#world.keysOf.get(key),
      now: this.#wallClock(),
      keptKeys: keptKeys ?? [],
    })
    const judged = this.#judge(gateway, keys)
    const combined = combine(judged, keys)
    const policies = judged?.policies ?? new Map<string, PolicyVerdict>()
    const compiled = issuerVersion === undefined ? combined : this.#withIssuer(combined)
    const versions = { uid, generation, keysVersion, issuerVersion }
    this.#made.set(key, { ...versions, compiled, policies, at: now })
    return { compiled, isNew: true }
  }

  /** Until the keys have been read, its tokens are refused; everything else works. */
  #withIssuer(compiled: Compiled): Compiled {
    const { keys } = this.#options.issuerKeys
    const { configuration } = compiled
    if (keys === undefined || configuration === undefined) return compiled
    return { ...compiled, configuration: withIssuerKeys(configuration, keys) }
  }

  verdictOf(gateway: string, key: string): KeyVerdict | undefined {
    return this.#made.get(gateway)?.compiled.verdicts.get(key)
  }

  policyVerdictOf(gateway: string, policy: string): PolicyVerdict | undefined {
    return this.#made.get(gateway)?.policies.get(policy)
  }

  /** Checks at once, or in a thread for a large document: undefined until the result for this generation exists. */
  #judge(gateway: KubeObject, keys: CompiledKeys): JudgedWhole | undefined {
    const tenants = [...tenantsOf(keys)]
    const now = this.#wallClock()
    const key = keyOf(gateway)
    const policies = this.#world.policiesOf.get(key)
    if (!isLarge(gateway)) return judgeWhole({ gateway, now, tenants, policies })
    const { uid, generation } = gateway.metadata
    const version = `${uid}/${generation}`
    const versions = policies.map(({ metadata }) => `${metadata.uid}/${metadata.generation}`)
    const of = `${version}/${hashOf([tenants.toSorted(), versions.toSorted()])}`
    const known = this.#judged.get(key)
    if (known?.of !== of && this.#asked.get(key) !== of) {
      this.#asked.set(key, of)
      const order = { gateway, now, tenants, policies }
      this.#last = this.#last.then(() => this.#judgeInTurn(order, { version, of }))
    }
    return known?.version === version ? known.judged : undefined
  }

  /** One thread at a time: each may take hundreds of megabytes. */
  async #judgeInTurn(
    order: Parameters<typeof judgeApart>[0],
    names: Omit<JudgedApart, 'judged'>,
  ): Promise<void> {
    const key = keyOf(order.gateway)
    // Edited again, or deleted, while it waited.
    if (this.#asked.get(key) !== names.of) return
    const judged = await (this.#options.judgeApart ?? judgeApart)(order)
    if (this.#asked.get(key) !== names.of) return
    this.#asked.delete(key)
    this.#judged.set(key, { ...names, judged })
    this.#made.delete(key)
    this.#options.onJudged(key)
  }

  forget(gateway: string): void {
    this.#made.delete(gateway)
    this.#judged.delete(gateway)
    this.#asked.delete(gateway)
  }

  #bump(gateway: string): void {
    this.#keysVersions.set(gateway, (this.#keysVersions.get(gateway) ?? 0) + 1)
  }
}

/** The status has the hashes of keys that the operator makes. */
export function isSameKey(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined || !isSameSpec(before, after)) return false
  const [one, other] = [before, after].map((key) => valueBelow(key, 'status', 'hashes'))
  return one === other || isDeepStrictEqual(one, other)
}

/** A change of only the status, which does not change the generation. */
export function isSameSpec(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined) return false
  const [one, other] = [before.metadata, after.metadata]
  return (
    one.uid === other.uid &&
    one.generation !== undefined &&
    one.generation === other.generation &&
    one.deletionTimestamp === other.deletionTimestamp
  )
}
