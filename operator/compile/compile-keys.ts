/** Keys of a gateway: those in its own document, and permitted GatewayKeys. */

import { listed } from '../../dataplane/config/checks/contract.ts'
import {
  type Finding,
  type Path,
  refuse,
  showPath,
} from '../../dataplane/config/judgement/problems.ts'
import type { KeyRecord } from '../../dataplane/delivery/signed.ts'
import { isRecord, listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { membersInSpec, specPath } from '../../dataplane/schema/key-members.ts'
import { ApiKey, type ApiKeyRecord } from '../../dataplane/schema/keys.ts'
import { hashesOf } from '../keys/generated.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'

export type KeyState = 'ACTIVE' | 'EXPIRED' | 'REVOKED' | 'ROTATED'

export interface KeyVerdict {
  readonly accepted: boolean
  /** CamelCase, for the condition. */
  readonly reason: 'Accepted' | 'InvalidSpec' | 'NotPermitted' | 'DuplicateHash' | 'GatewayNotFound'
  readonly message: string
  readonly state: KeyState
  /** Routes that the key names and the gateway does not have: it may call the others. */
  readonly missing?: readonly string[]
  /** Whether none of its routes exists, so that the key can call nothing. */
  readonly hasNoRoute?: boolean
  /** Tags that the key sets and the gateway does not declare: usage is not counted by them. */
  readonly undeclared?: readonly string[]
  /** The operator must still make the key. */
  readonly isUnmade?: boolean
  /** Why the operator does not make the key. */
  readonly pending?: string
}

export interface KeySources {
  readonly gateway: KubeObject
  readonly keys: readonly KubeObject[]
  readonly now: number
  readonly keptKeys: readonly KeyRecord[]
}

export interface CompiledKeys {
  readonly records: readonly KeyRecord[]
  readonly verdicts: ReadonlyMap<string, KeyVerdict>
}

export function compileKeys({ gateway, keys, now, keptKeys }: KeySources): CompiledKeys {
  const byHash = new Map<string, KeyRecord>()
  const names = namesOf(gateway)
  for (const record of ownKeys(gateway, keptKeys)) {
    if (!byHash.has(record.hash)) byHash.set(record.hash, record)
  }
  const verdicts = new Map<string, KeyVerdict>()
  for (const key of [...keys].sort(byAge)) {
    const { record, live = [], faults } = readKey(key)
    const state = record === undefined ? 'ACTIVE' : stateOf(record, now)
    if (record === undefined || !isPermitted(gateway, key, record.tenant)) {
      verdicts.set(keyOf(key), refusal(key, gateway, faults))
    } else if (live.some(({ hash }) => byHash.has(hash))) {
      verdicts.set(keyOf(key), { ...DUPLICATE, state })
    } else {
      for (const one of live) byHash.set(one.hash, one)
      const lacks = lacksOf(record, names)
      const message = acceptedMessage(state, lacks)
      const unmade = live.length === 0 ? { isUnmade: true } : {}
      verdicts.set(keyOf(key), { ...ACCEPTED, message, state, ...lacks, ...unmade })
    }
  }
  return { records: [...byHash.values()], verdicts }
}

/** `namespace/name` of the gateway that a key is for. */
export function gatewayOf(key: KubeObject): string {
  const gateway = String(valueBelow(key, 'spec', 'gateway') ?? '')
  return gateway.includes('/') ? gateway : `${key.metadata.namespace ?? ''}/${gateway}`
}

export function stateOf(record: KeyRecord, now: number): KeyState {
  if (record.rotated_to !== undefined) return 'ROTATED'
  if (record.revoked_at !== undefined) return 'REVOKED'
  const isExpired = record.expires_at !== undefined && Date.parse(record.expires_at) <= now
  return isExpired ? 'EXPIRED' : 'ACTIVE'
}

/** The state of a key whose gateway does not exist. */
export function keyStateOf(key: KubeObject, now: number): KeyState {
  const { record } = readKey(key)
  return record === undefined ? 'ACTIVE' : stateOf(record, now)
}

const ACCEPTED = { accepted: true, reason: 'Accepted' } as const

const DUPLICATE = {
  accepted: false,
  reason: 'DuplicateHash',
  message:
    'An older record has the same hash and is used instead. Make a new key with `gw keys create`, and delete this record.',
} as const

/** Names in a key that its gateway does not have. */
type Lacks = Pick<KeyVerdict, 'missing' | 'hasNoRoute' | 'undeclared'>

/** A key may be created before its routes and tags, so a missing one does not affect the others. */
export function acceptedMessage(state: KeyState, { missing, undeclared }: Lacks): string {
  if (state !== 'ACTIVE') return `The key is ${state.toLowerCase()} and answers 401.`
  const routes =
    missing === undefined
      ? 'The key may call its routes.'
      : `The gateway has no route ${listed(missing)}. Correct spec.routes (an alias is no route), or add the route.`
  if (undeclared === undefined) return routes
  const tags = `usage.tags of the gateway does not declare ${listed(undeclared)}, so usage is not counted by it.`
  return `${routes} ${tags} Correct spec.tags, or declare the tag.`
}

interface KnownNames {
  readonly routes: ReadonlySet<unknown>
  readonly tags: ReadonlySet<unknown>
}

function namesOf(gateway: KubeObject): KnownNames {
  const routes = listBelow(gateway, 'gw', 'routes').map((route) => valueBelow(route, 'name'))
  return { routes: new Set(routes), tags: new Set(listBelow(gateway, 'gw', 'usage', 'tags')) }
}

const MISSING_MAX = 10

function lacksOf({ routes, tags = {} }: KeyRecord, known: KnownNames): Lacks {
  const missing = routes
    .filter((name) => !name.endsWith('*') && !known.routes.has(name))
    .slice(0, MISSING_MAX)
  const undeclared = Object.keys(tags).filter((name) => !known.tags.has(name))
  const hasNoRoute = missing.length === Math.min(routes.length, MISSING_MAX)
  return {
    ...(missing.length > 0 && { missing, hasNoRoute }),
    ...(undeclared.length > 0 && { undeclared }),
  }
}

function refusal(
  key: KubeObject,
  gateway: KubeObject,
  [fault]: readonly Finding[] = [],
): KeyVerdict {
  const isForeign = key.metadata.namespace !== gateway.metadata.namespace
  if (fault !== undefined && !isForeign) {
    const message = `${showPath(fault.path)}: ${fault.message}.`
    return { accepted: false, reason: 'InvalidSpec', message, state: 'ACTIVE' }
  }
  return NOT_PERMITTED
}

/** The same text whether the gateway exists or not, so that other teams learn nothing. */
export const NOT_PERMITTED: KeyVerdict = {
  accepted: false,
  reason: 'NotPermitted',
  message:
    'No gateway of that name accepts this key: its spec.keys.from must list this namespace and tenant.',
  state: 'ACTIVE',
}

/** Records of `gw.api_keys`; if one becomes unreadable, its earlier version stays active. */
function ownKeys(gateway: KubeObject, kept: readonly KeyRecord[]): KeyRecord[] {
  const own = valueBelow(gateway, 'gw', 'api_keys')
  if (!Array.isArray(own)) return []
  return own.flatMap((entry: unknown) => {
    const parsed = ApiKey.safeParse(entry)
    if (parsed.success) return [recordOf(parsed.data)]
    const id = valueBelow(entry, 'id')
    return kept.filter((record) => record.id === id)
  })
}

/** Mistakes of a GatewayKey itself, independent of its gateway. */
export function faultsOfKey(key: KubeObject): readonly Finding[] {
  return readKey(key).faults ?? []
}

interface ReadKey {
  readonly record?: KeyRecord
  /** One record for each valid key: a generated key has two during a rotation, or none yet. */
  readonly live?: readonly KeyRecord[]
  readonly faults?: readonly Finding[]
}

const read = new WeakMap<KubeObject, ReadKey>()

/** Each object is read once, because usually one of ten thousand keys has changed. */
function readKey(key: KubeObject): ReadKey {
  const known = read.get(key)
  if (known !== undefined) return known
  const isForeign = !gatewayOf(key).startsWith(`${key.metadata.namespace}/`)
  // Ids from other namespaces carry the namespace, so that no key can pass for another in logs.
  const found = parseKey(key, isForeign ? keyOf(key) : key.metadata.name)
  read.set(key, found)
  return found
}

function parseKey(key: KubeObject, id: string): ReadKey {
  const spec = isRecord(key.spec) ? key.spec : {}
  const isGenerated = spec.generate !== undefined
  const members = membersInSpec(spec)
  const parsed = ApiKey.safeParse(
    withoutAbsent({
      ...members,
      id,
      hash: isGenerated ? UNMADE : members.hash,
      // A key with `revoked: {}` is revoked, at an unknown time.
      revoked_at: isRecord(spec.revoked)
        ? (members.revoked_at ?? key.metadata.creationTimestamp)
        : undefined,
    }),
  )
  if (parsed.success) {
    const record = recordOf(parsed.data)
    return { record, live: isGenerated ? madeRecords(record, key) : [record] }
  }
  const faults = parsed.error.issues.map(({ path, message }) =>
    refuse(fieldOf(path), message, 'Correct the field, or remove it.'),
  )
  return { faults }
}

/** Used while there is no hash yet, and in no document. */
const UNMADE = `sha256:${'0'.repeat(64)}`

function madeRecords(record: KeyRecord, key: KubeObject): KeyRecord[] {
  return hashesOf(key).map(({ hash, prefix, notAfter }) => {
    const ends = [record.expires_at, notAfter].flatMap((end) => end ?? [])
    const [first] = ends.toSorted((one, other) => Date.parse(one) - Date.parse(other))
    return { ...record, hash, prefix, ...(first !== undefined && { expires_at: first }) }
  })
}

function fieldOf([first, ...rest]: readonly PropertyKey[]): Path {
  const below = rest.map((part) => (typeof part === 'number' ? part : String(part)))
  return ['spec', ...specPath(String(first ?? '')), ...below]
}

/** Undefined members are removed, as canonical JSON and the receiver require. */
function recordOf(record: ApiKeyRecord): KeyRecord {
  // The schema's optional members are the same; only `undefined` as a value is gone.
  return withoutAbsent(record) as unknown as KeyRecord
}

function withoutAbsent(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function isPermitted(gateway: KubeObject, key: KubeObject, tenant: string): boolean {
  if (key.metadata.namespace === gateway.metadata.namespace) return true
  const from = valueBelow(gateway, 'spec', 'keys', 'from')
  if (!Array.isArray(from)) return false
  return from.some(
    (grant) =>
      lists(grant, 'namespaces', key.metadata.namespace ?? '') && lists(grant, 'tenants', tenant),
  )
}

/** A grant without a list, or with an empty one, grants nothing. */
function lists(grant: unknown, member: string, value: string): boolean {
  const entries = valueBelow(grant, member)
  return Array.isArray(entries) && (entries.includes(value) || entries.includes('*'))
}

/** The older record of a hash wins; the name decides between two of one second. */
function byAge(one: KubeObject, other: KubeObject): number {
  const ages = [one, other].map(({ metadata }) => metadata.creationTimestamp ?? '')
  return compareText(ages[0] ?? '', ages[1] ?? '') || compareText(keyOf(one), keyOf(other))
}

function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
