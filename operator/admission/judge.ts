/**
 * Checks one object with the functions of the operator itself. Mistakes that may disappear without an edit are
 * warnings.
 */

import { type Finding, showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { combine, compile, showFinding, tenantsOf } from '../compile/compile.ts'
import { compileKeys, faultsOfKey, gatewayOf, NOT_PERMITTED } from '../compile/compile-keys.ts'
import {
  isLarge,
  type JudgedWhole,
  judgeApart,
  judgeWhole,
  type Order,
  TIMED_OUT,
} from '../compile/judge-apart.ts'
import { NOT_GRANTED } from '../compile/policy-verdict.ts'
import { faultsOfPolicy, gatewayOfPolicy } from '../compile/tenant-policies.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import { asWritten } from '../kube/watch/trim.ts'
import type { ReviewQuestion, ReviewVerdict } from './review.ts'

/** The state of the cluster at this moment. */
export interface ClusterView {
  readonly now: number
  readonly gateway: (key: string) => KubeObject | undefined
  /** Every GatewayKey that names this gateway. */
  readonly keysOf: (gateway: string) => readonly KubeObject[]
  /** Every TenantPolicy that names this gateway. */
  readonly policiesOf: (gateway: string) => readonly KubeObject[]
}

export async function judgeQuestion(
  { kind, object, before }: ReviewQuestion,
  known: ClusterView,
): Promise<ReviewVerdict> {
  if (kind === RESOURCES.gatewayKeys.kind) return judgeKey(object, known)
  if (kind === RESOURCES.tenantPolicies.kind) return await judgePolicy(object, known)
  const found = await problemsOf(object, known)
  // A check that took too long says nothing about the object.
  const isError = ({ severity, code }: Finding) => severity === 'error' && code !== TIMED_OUT
  const errors = found.filter(isError)
  // An object that was stored with this mistake must remain editable, and a paused gateway is not applied.
  const old = before === undefined || errors.length === 0 ? [] : await problemsOf(before, known)
  const isPaused = valueBelow(object, 'spec', 'paused') === true
  const isNew = (finding: Finding) => !isPaused && !old.some((one) => isSame(one, finding))
  return {
    errors: errors.filter(isNew),
    warnings: found.filter((finding) => !isError(finding) || !isNew(finding)).map(showFinding),
  }
}

/** The API server waits five seconds for an answer. */
const DEADLINE_MS = 4000

/** One thread at a time: each may take hundreds of megabytes. */
let lastApart: Promise<unknown> = Promise.resolve()

async function problemsOf(
  stored: KubeObject,
  { now, keysOf }: ClusterView,
): Promise<readonly Finding[]> {
  const gateway = asWritten(stored)
  const keys = keysOf(keyOf(gateway))
  if (!isLarge(gateway)) return compile({ gateway, keys, now }).problems
  const compiled = compileKeys({ gateway, keys, now, keptKeys: [] })
  const order = { gateway, now, tenants: [...tenantsOf(compiled)], policies: [] }
  return combine(await judgeInTurn(order), compiled).problems
}

async function judgeInTurn(order: Order): Promise<JudgedWhole> {
  const judged = lastApart.then(() => judgeApart(order, DEADLINE_MS))
  lastApart = judged
  return await judged
}

/** Its grant, its gateway and its routes may be created later, and an older policy of the tenant may be deleted. */
async function judgePolicy(policy: KubeObject, known: ClusterView): Promise<ReviewVerdict> {
  const errors = faultsOfPolicy(policy)
  if (errors.length > 0) return { errors, warnings: [] }
  const { now, policiesOf } = known
  const name = gatewayOfPolicy(policy)
  const gateway = known.gateway(name)
  // The same text as for a policy without a grant, so that other teams learn nothing.
  if (gateway === undefined) return { errors, warnings: [NOT_GRANTED.message] }
  const creationTimestamp = policy.metadata.creationTimestamp ?? new Date(now).toISOString()
  const asked = { ...policy, metadata: { ...policy.metadata, creationTimestamp } }
  const others = policiesOf(name).filter((other) => keyOf(other) !== keyOf(policy))
  const order = { gateway, now, tenants: [], policies: [...others, asked] }
  const judged = isLarge(gateway) ? await judgeInTurn(order) : judgeWhole(order)
  const verdict = judged.policies.get(keyOf(policy))
  const isFine = verdict === undefined || verdict.reason === 'Accepted'
  return { errors, warnings: isFine ? [] : [verdict.message] }
}

function isSame(one: Finding, other: Finding): boolean {
  return (
    one.severity === other.severity &&
    one.message === other.message &&
    showPath(one.path) === showPath(other.path)
  )
}

/** Its gateway, its permission and its routes may be created later, and an older record of its hash may be deleted. */
function judgeKey(key: KubeObject, known: ClusterView): ReviewVerdict {
  const errors = faultsOfKey(key)
  return { errors, warnings: errors.length > 0 ? [] : warningsOf(key, known) }
}

function warningsOf(
  key: KubeObject,
  { now, gateway: gatewayNamed, keysOf }: ClusterView,
): string[] {
  const name = gatewayOf(key)
  const gateway = gatewayNamed(name)
  if (gateway === undefined) {
    const isForeign = !name.startsWith(`${key.metadata.namespace}/`)
    const missing = 'there is no such GatewayConfig yet. Create it, or correct spec.gateway.'
    return [isForeign ? NOT_PERMITTED.message : `spec.gateway: ${missing}`]
  }
  // Only records with the same hash matter to this one, among thousands.
  const hash = valueBelow(key, 'spec', 'hash')
  const others = keysOf(name).filter(
    (other) => keyOf(other) !== keyOf(key) && valueBelow(other, 'spec', 'hash') === hash,
  )
  const sources = { gateway: withKeysOf(gateway, hash), keys: [...others, key], now, keptKeys: [] }
  const verdict = compileKeys(sources).verdicts.get(keyOf(key))
  const lacksNothing = verdict?.missing === undefined && verdict?.undeclared === undefined
  const isFine = verdict?.accepted === true && lacksNothing
  return verdict === undefined || isFine ? [] : [verdict.message]
}

function withKeysOf(gateway: KubeObject, hash: unknown): KubeObject {
  const own = valueBelow(gateway, 'gw', 'api_keys')
  if (!Array.isArray(own) || !isRecord(gateway.gw)) return gateway
  const api_keys = own.filter((record) => valueBelow(record, 'hash') === hash)
  return { ...gateway, gw: { ...gateway.gw, api_keys } }
}
