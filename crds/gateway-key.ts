/** A key as a separate resource, for self-service: the record of the file, never the key itself. */
import { z } from 'zod'
import { API_VERSION } from '../dataplane/schema/index.ts'
import { specSchemas } from '../dataplane/schema/key-members.ts'
import { ApiKey, SCOPES } from '../dataplane/schema/keys.ts'
import { Condition } from './conditions.ts'
import { listMap, Metadata, moment, type Rule, ruled } from './fields.ts'

export const KEY_KIND = 'GatewayKey'

const GATEWAY = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

const record = ApiKey.shape
const SCOPES_MEANING = 'Permissions of the key; both if absent.'

const Revocation = z.strictObject({
  at: moment().describe('The time of revocation; from then on the key answers 401.'),
  reason: record.reason.describe('Why.'),
})

const YEAR_SECONDS = 366 * 86_400

/** A key that the operator makes, in a Secret next to the GatewayKey. */
export const Generation = ruled(
  z.strictObject({
    revision: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .default(1)
      .describe('Another number makes a new key.'),
    rotateAfterSeconds: z
      .int()
      .min(60)
      .max(10 * YEAR_SECONDS)
      .optional()
      .describe('Age at which a key is replaced; never if absent.'),
    overlapSeconds: z
      .int()
      .min(0)
      .max(YEAR_SECONDS)
      .default(86_400)
      .describe('How long the old key works after the new one.'),
  }),
  {
    rule: '!has(self.rotateAfterSeconds) || !has(self.overlapSeconds) || self.overlapSeconds < self.rotateAfterSeconds',
    message: 'overlapSeconds: must be below rotateAfterSeconds; at most two keys are valid',
    holds: ({ rotateAfterSeconds, overlapSeconds }) =>
      rotateAfterSeconds === undefined || overlapSeconds < rotateAfterSeconds,
  },
)

export type Generation = z.output<typeof Generation>

export const GatewayKeySpec = ruled(
  z.strictObject({
    gateway: z
      .string()
      .min(1)
      .max(317)
      .regex(GATEWAY, 'must be NAME or NAMESPACE/NAME of a GatewayConfig')
      .describe(
        'The GatewayConfig: its name, or NAMESPACE/NAME if it is in another namespace and ' +
          'allows this one in spec.keys.from.',
      ),
    ...(specSchemas() as object),
    tenant: record.tenant,
    hash: record.hash.optional(),
    generate: Generation.optional().describe(
      'The operator makes the key, in the Secret gw-key-NAME (entry "key"), if it is installed with keys.generate.',
    ),
    prefix: record.prefix,
    scopes: record.scopes
      .unwrap()
      .min(1)
      .default([...SCOPES])
      .describe(SCOPES_MEANING),
    routes: record.routes,
    tags: record.tags,
    expiresAt: moment().optional().describe('From this moment on 401.'),
    revoked: Revocation.optional().describe('A revoked key answers 401, and stays revoked.'),
    rotatedTo: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe('Name of the GatewayKey that replaces it; a rotated key answers 401.'),
  }),
  {
    rule: "size(self.routes) == 1 || !self.routes.exists(name, name == '*')",
    message: 'routes: "*" means all routes; keep it alone, or only the names',
    holds: ({ routes }) => routes.length === 1 || !routes.includes('*'),
  },
  {
    rule: 'has(self.hash) != has(self.generate)',
    message: 'hash: write it, or generate: {}, which has the operator make the key; not both',
    holds: ({ hash, generate }) => (hash === undefined) !== (generate === undefined),
  },
  {
    rule: '!has(self.generate) || !has(self.prefix)',
    message: 'prefix: cannot take effect with generate; status.hashes has it',
    holds: ({ generate, prefix }) => generate === undefined || prefix === undefined,
  },
  {
    rule: "!has(self.prefix) || !self.prefix.matches('^gw_.+_[0-9A-Za-z]{49}$')",
    message:
      'prefix: is a whole key, which must never be stored; keep its first characters, and replace the exposed key',
    holds: ({ prefix }) => prefix === undefined || !/^gw_.+_[0-9A-Za-z]{49}$/.test(prefix),
  },
)

/** Rules on what an edit may change, which only the API server can check. */
export const KEY_TRANSITIONS: readonly Rule[] = [
  {
    rule: 'has(self.hash) == has(oldSelf.hash) && (!has(self.hash) || self.hash == oldSelf.hash)',
    message: 'hash: a key cannot become another one; create a new GatewayKey',
  },
  {
    rule: '!has(oldSelf.revoked) || has(self.revoked)',
    message: 'revoked: a revoked key stays revoked; create a new GatewayKey',
  },
]

export const KEY_STATES = ['ACTIVE', 'EXPIRED', 'REVOKED', 'ROTATED'] as const

const GeneratedHash = z.object({
  hash: record.hash,
  prefix: z.string().max(128).describe('First characters of the key.'),
  revision: z.int().min(1).describe('The value from spec.generate.'),
  madeAt: moment().describe('When the operator made the key.'),
  state: z
    .enum(['Pending', 'Current', 'Former'])
    .describe('Pending until the Secret has the key; Former after a newer one exists.'),
  notAfter: moment().optional().describe('When a former key ends.'),
})

export type GeneratedHash = z.output<typeof GeneratedHash>

export const GatewayKeyStatus = z.object({
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe('The generation that this status describes.'),
  state: z
    .enum(KEY_STATES)
    .optional()
    .describe('The state of the record itself; Ready says whether a client can call with the key.'),
  hashes: z
    .array(GeneratedHash)
    .max(2)
    .optional()
    .describe('The valid keys, if the operator makes them.'),
  conditions: z
    .array(Condition)
    .max(8)
    .default([])
    .meta(listMap('type'))
    .describe('Accepted: the gateway accepts it. Ready: a client can call with it.'),
})

export type GatewayKeyStatus = z.output<typeof GatewayKeyStatus>

export const GatewayKey = z.looseObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal(KEY_KIND),
  metadata: Metadata,
  spec: GatewayKeySpec,
  status: GatewayKeyStatus.prefault({}),
})

export type GatewayKey = z.output<typeof GatewayKey>
