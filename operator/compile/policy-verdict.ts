/** The verdicts on TenantPolicies, as their status has them. */
import type { Effective } from '../../crds/tenant-policy.ts'
import type { KubeObject } from '../kube/objects.ts'

/** More of them would not fit into the document. */
export const POLICIES_MAX = 500

/** The same for their further limits. */
export const FURTHER_LIMITS_MAX = 1_000

export interface PolicyVerdict {
  readonly accepted: boolean
  /** CamelCase, for the condition. */
  readonly reason:
    | 'Accepted'
    | 'Bounded'
    | 'Overruled'
    | 'Unplaced'
    | 'Conflicted'
    | 'InvalidSpec'
    | 'NotGranted'
    | 'BeyondGrant'
  readonly message: string
  /** The enforced amounts; for a policy that became invalid, its earlier ones. */
  readonly effective?: Effective
}

/** The same text whether the gateway exists or not, so that other teams learn nothing. */
export const NOT_GRANTED: PolicyVerdict = {
  accepted: false,
  reason: 'NotGranted',
  message:
    'No gateway of that name accepts this policy: its spec.tenants.from must list this namespace and tenant.',
}

export function invalid(
  message: string,
  before: Effective | undefined,
  kept = 'The previous version of the policy stays active.',
): PolicyVerdict {
  const consequence = before === undefined ? 'The tenant has the limits of the gateway.' : kept
  return {
    accepted: false,
    reason: 'InvalidSpec',
    message: `${message}. ${consequence}`,
    ...(before && { effective: before }),
  }
}

export function beyondGrant(message: string, isKept: boolean, effective: Effective): PolicyVerdict {
  const consequence = isKept
    ? 'The previous version of the limit stays active.'
    : 'The rest of the policy is active.'
  return {
    accepted: false,
    reason: 'BeyondGrant',
    message: `${message}. ${consequence}`,
    effective,
  }
}

/** The labels are enforced all the same: no request goes where the team forbids it. */
export function unplaced(message: string, effective: Effective): PolicyVerdict {
  return {
    accepted: true,
    reason: 'Unplaced',
    message: `spec.requires: ${message}. Requests of the tenant get 403 until an upstream has them.`,
    effective,
  }
}

export const TOO_MANY: PolicyVerdict = {
  accepted: false,
  reason: 'InvalidSpec',
  message: `The gateway accepts ${POLICIES_MAX} policies, and has older ones. Write the limits of this tenant into the gateway.`,
}

/** A team of another namespace does not learn the location of the other policy. */
export function conflict(tenant: string, older: KubeObject, policy: KubeObject): PolicyVerdict {
  const isNear = older.metadata.namespace === policy.metadata.namespace
  const which = isNear ? `TenantPolicy ${older.metadata.name}` : 'A policy of another namespace'
  const message = `${which} is older and applies to tenant "${tenant}". Delete one of them.`
  return { accepted: false, reason: 'Conflicted', message }
}
