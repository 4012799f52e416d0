/** A CustomResourceDefinition: the names, the schema, the columns that kubectl prints. */

import type { Tree } from '../dataplane/config/document/tree.ts'
import { isRecord } from '../dataplane/json/values.ts'
import { API_VERSION } from '../dataplane/schema/index.ts'
import { INITIAL_STATUS } from './conditions.ts'
import type { Rule } from './fields.ts'
import { GatewayStatus, NAME_RULE } from './gateway-config.ts'
import { GatewayKeySpec, GatewayKeyStatus, KEY_KIND, KEY_TRANSITIONS } from './gateway-key.ts'
import { makeGatewaySection } from './gateway-section.ts'
import { makeStructural } from './structural.ts'
import { WorkloadSpec } from './workload.ts'

interface Column {
  readonly name: string
  readonly jsonPath: string
  readonly description: string
  readonly type?: 'string' | 'integer' | 'date'
  /** Shown by -o wide only. */
  readonly wide?: true
}

interface Names {
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortName: string
}

interface Definition extends Names {
  /** Default: the version of the other kinds. */
  readonly version?: string
  readonly description: string
  readonly properties: Tree
  readonly required: readonly string[]
  /** On the whole object. */
  readonly rules?: readonly Rule[]
  readonly columns: readonly Column[]
  readonly subresources: Tree
}

const [GROUP = '', VERSION = ''] = API_VERSION.split('/')
export const own = { references: false }

export const condition = (type: string, member: string) =>
  `.status.conditions[?(@.type=="${type}")].${member}`

export const AGE: Column = {
  name: 'Age',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation.',
  type: 'date',
}

export function makeGatewayConfigDefinition(): Tree {
  const spec = makeStructural(WorkloadSpec, own)
  return makeDefinition({
    kind: 'GatewayConfig',
    plural: 'gatewayconfigs',
    singular: 'gatewayconfig',
    shortName: 'gwc',
    description: 'An inference gateway: what it does (gw) and how it runs in the cluster (spec).',
    properties: {
      spec: withReplicasDefault({
        ...spec,
        description: 'Kubernetes shape of the data plane; has no effect outside a cluster.',
      }),
      gw: { ...makeGatewaySection(), description: 'The configuration of the gateway.' },
      status: {
        ...makeStructural(GatewayStatus, own),
        default: INITIAL_STATUS,
        description: 'Written by the operator: what every pod enforces.',
      },
    },
    required: ['gw'],
    rules: [{ rule: NAME_RULE.rule, message: NAME_RULE.message }],
    columns: GATEWAY_COLUMNS,
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
  })
}

const GATEWAY_COLUMNS: readonly Column[] = [
  {
    name: 'Ready',
    jsonPath: condition('Ready', 'status'),
    description: 'Whether everything is as configured.',
  },
  {
    name: 'Reason',
    jsonPath: condition('Ready', 'reason'),
    description: 'Why it is, or is not.',
  },
  {
    name: 'Programmed',
    jsonPath: condition('Programmed', 'status'),
    description: 'Whether every pod enforces the newest configuration.',
  },
  {
    name: 'Degraded',
    jsonPath: condition('Degraded', 'status'),
    description: 'Whether the gateway serves something else than configured.',
  },
  {
    name: 'Replicas',
    jsonPath: '.status.readyReplicas',
    type: 'integer',
    description: 'Pods that take requests.',
  },
  {
    name: 'Address',
    jsonPath: '.status.address',
    description: 'Base address for clients, before /v1.',
  },
  AGE,
  {
    name: 'Verified',
    jsonPath: condition('Verified', 'status'),
    description: 'Whether every route with verify: true answers; empty if no route has it.',
    wide: true,
  },
  {
    name: 'Hash',
    jsonPath: '.status.activeHash',
    description: 'The newest configuration that was accepted.',
    wide: true,
  },
  {
    name: 'Message',
    jsonPath: condition('Ready', 'message'),
    description: 'The next step.',
    wide: true,
  },
]

export function makeGatewayKeyDefinition(): Tree {
  return makeDefinition({
    kind: KEY_KIND,
    plural: 'gatewaykeys',
    singular: 'gatewaykey',
    shortName: 'gwk',
    description: 'A key that may call a gateway, as its hash; the key itself is not stored.',
    properties: {
      spec: withTransitions({
        ...makeStructural(GatewayKeySpec, own),
        description: 'The record of the key.',
      }),
      status: {
        ...makeStructural(GatewayKeyStatus, own),
        default: INITIAL_STATUS,
        description: 'Written by the operator.',
      },
    },
    required: ['spec'],
    columns: KEY_COLUMNS,
    subresources: { status: {} },
  })
}

const KEY_COLUMNS: readonly Column[] = [
  {
    name: 'Ready',
    jsonPath: condition('Ready', 'status'),
    description: 'Whether a client can call with it.',
  },
  {
    name: 'Reason',
    jsonPath: condition('Ready', 'reason'),
    description: 'Why it can, or cannot.',
  },
  { name: 'State', jsonPath: '.status.state', description: 'The state of the record itself.' },
  { name: 'Gateway', jsonPath: '.spec.gateway', description: 'Where it counts.' },
  {
    name: 'Tenant',
    jsonPath: '.spec.tenant',
    description: 'The tenant whose limits the key uses.',
  },
  { name: 'Expires', jsonPath: '.spec.expiresAt', description: 'When it stops working.' },
  AGE,
  {
    name: 'Accepted',
    jsonPath: condition('Accepted', 'status'),
    description: 'Whether the gateway accepts it.',
    wide: true,
  },
  { name: 'Prefix', jsonPath: '.spec.prefix', description: 'How the key begins.', wide: true },
  {
    name: 'Message',
    jsonPath: condition('Ready', 'message'),
    description: 'The next step.',
    wide: true,
  },
]

/** `/scale` needs the number, so the API server sets this one default. */
function withReplicasDefault(spec: Tree): Tree {
  const { properties } = spec
  const replicas = isRecord(properties) ? properties.replicas : undefined
  if (!isRecord(properties) || !isRecord(replicas)) throw new Error('spec has no replicas')
  return {
    ...spec,
    default: {},
    properties: { ...properties, replicas: { ...replicas, default: 1 } },
  }
}

function withTransitions(spec: Tree): Tree {
  const rules = spec['x-kubernetes-validations']
  return {
    ...spec,
    'x-kubernetes-validations': [...(Array.isArray(rules) ? rules : []), ...KEY_TRANSITIONS],
  }
}

export function makeDefinition(definition: Definition): Tree {
  const { kind, plural, singular, shortName, description, properties, required } = definition
  const { rules = [], version = VERSION } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames: [shortName],
        categories: ['inference-gateway'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              required,
              properties: {
                apiVersion: { type: 'string', maxLength: 253, description: `${GROUP}/${version}.` },
                kind: { type: 'string', maxLength: 253, description: `Always ${kind}.` },
                metadata: { type: 'object' },
                ...properties,
              },
              ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
            },
          },
          additionalPrinterColumns: definition.columns.map(printed),
          subresources: definition.subresources,
        },
      ],
    },
  }
}

function printed({ name, jsonPath, description, type = 'string', wide }: Column): Tree {
  return { name, jsonPath, description, type, ...(wide === true ? { priority: 1 } : {}) }
}
