/** Writes the status of each TenantPolicy: whether the gateway enforces it, and the amounts. */
import type { Condition } from '../../crds/conditions.ts'
import { TenantPolicyStatus } from '../../crds/tenant-policy.ts'
import { hashOf } from '../../dataplane/delivery/signed.ts'
import type { Compilations } from '../compile/compilations.ts'
import { NOT_GRANTED, type PolicyVerdict } from '../compile/policy-verdict.ts'
import { gatewayOfPolicy } from '../compile/tenant-policies.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import type { Events } from '../kube/events.ts'
import { STATUS_MANAGER } from '../kube/names.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { ReconcileResult } from '../kube/queue.ts'
import type { World } from '../world.ts'
import { isoSeconds } from './status.ts'

export interface PoliciesOptions {
  readonly api: ApiClient
  readonly world: World
  readonly compilations: Compilations
  readonly events: Pick<Events, 'tellOfChanges'>
  readonly wallClock: () => number
}

export class PoliciesReconciler {
  readonly #options: PoliciesOptions

  constructor(options: PoliciesOptions) {
    this.#options = options
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { world, events, wallClock } = this.#options
    const policy = world.stores.tenantPolicies.get(name)
    if (policy === undefined || policy.metadata.deletionTimestamp !== undefined) return undefined
    const verdict = this.#verdict(policy)
    // The gateway is compiled soon, and its compilation triggers this reconcile again.
    if (verdict === undefined) return undefined
    const before = statusOf(policy)
    const status = nextStatus(policy, verdict, before, isoSeconds(wallClock()))
    if (hashOf(status) === hashOf(before)) return undefined
    await this.#write(policy, status)
    const object = { ...policy, kind: RESOURCES.tenantPolicies.kind }
    events.tellOfChanges(object, before.conditions, status.conditions)
    return undefined
  }

  #verdict(policy: KubeObject): PolicyVerdict | undefined {
    const { world, compilations } = this.#options
    const gateway = gatewayOfPolicy(policy)
    const found = compilations.policyVerdictOf(gateway, keyOf(policy))
    if (found !== undefined) return found
    return world.stores.gatewayConfigs.get(gateway) === undefined ? NOT_GRANTED : undefined
  }

  async #write(policy: KubeObject, status: TenantPolicyStatus): Promise<void> {
    const { name, namespace, uid } = policy.metadata
    const metadata = { name, ...(namespace && { namespace }), ...(uid && { uid }) }
    try {
      const options = { manager: STATUS_MANAGER, subresource: 'status' }
      await this.#options.api.apply(RESOURCES.tenantPolicies, { metadata, status }, options)
    } catch (error) {
      if (!isStatus(error, 404) && !isStatus(error, 409)) throw error
    }
  }
}

function statusOf({ status }: KubeObject): TenantPolicyStatus {
  const parsed = TenantPolicyStatus.safeParse(status ?? {})
  return parsed.success ? parsed.data : TenantPolicyStatus.parse({})
}

function nextStatus(
  { metadata }: KubeObject,
  { accepted, reason, message, effective }: PolicyVerdict,
  before: TenantPolicyStatus,
  now: string,
): TenantPolicyStatus {
  const observedGeneration = metadata.generation ?? 0
  const status = accepted ? 'True' : 'False'
  const known = before.conditions.find(({ type }) => type === 'Accepted')
  const lastTransitionTime = known?.status === status ? known.lastTransitionTime : now
  const type = 'Accepted'
  const condition: Condition = {
    type,
    status,
    observedGeneration,
    lastTransitionTime,
    reason,
    message,
  }
  return { observedGeneration, conditions: [condition], ...(effective && { effective }) }
}
