/** The CustomResourceDefinition of TenantPolicy. */
import type { Tree } from '../dataplane/config/document/tree.ts'
import { INITIAL_STATUS } from './conditions.ts'
import { AGE, condition, makeDefinition, own } from './definition.ts'
import { makeStructural } from './structural.ts'
import {
  POLICY_KIND,
  POLICY_VERSION,
  TenantPolicySpec,
  TenantPolicyStatus,
} from './tenant-policy.ts'

export function makeTenantPolicyDefinition(): Tree {
  return makeDefinition({
    kind: POLICY_KIND,
    version: POLICY_VERSION,
    plural: 'tenantpolicies',
    singular: 'tenantpolicy',
    shortName: 'gwt',
    description: 'Limits and budget of one tenant, below the ceilings that the gateway allows.',
    properties: {
      spec: {
        ...makeStructural(TenantPolicySpec, own),
        description: 'The amounts, and where they apply.',
      },
      status: {
        ...makeStructural(TenantPolicyStatus, own),
        default: {
          conditions: INITIAL_STATUS.conditions.map((one) => ({ ...one, type: 'Accepted' })),
        },
        description: 'Written by the operator: the amounts that apply.',
      },
    },
    required: ['spec'],
    columns: [
      {
        name: 'Accepted',
        jsonPath: condition('Accepted', 'status'),
        description: 'Whether the gateway enforces it.',
      },
      {
        name: 'Reason',
        jsonPath: condition('Accepted', 'reason'),
        description: 'Why it does, or does not.',
      },
      { name: 'Gateway', jsonPath: '.spec.gateway', description: 'Where it counts.' },
      { name: 'Tenant', jsonPath: '.spec.tenant', description: 'The tenant that it limits.' },
      AGE,
      {
        name: 'Message',
        jsonPath: condition('Accepted', 'message'),
        description: 'The next step.',
        wide: true,
      },
    ],
    subresources: { status: {} },
  })
}
