/** `gw.api_keys[]`: who may call. The key itself is never here, only its SHA-256. */
import { z } from 'zod'
import { TAG_VALUE, TAG_VALUE_MAX } from './constants.ts'
import { name, namePattern, text } from './fields.ts'

export const SCOPES = ['models:invoke', 'models:list'] as const

export const TAGS_MAX = 8

const moment = () =>
  z.iso.datetime({ offset: true, error: 'must be an ISO 8601 time such as 2027-01-31T00:00:00Z' })

const TAG_VALUE_RULE = 'must be 1 to 64 letters, digits and . _ : / @ -'

export const Tags = z
  .record(name(), z.string().max(TAG_VALUE_MAX, TAG_VALUE_RULE).regex(TAG_VALUE, TAG_VALUE_RULE))
  .refine((tags) => Object.keys(tags).length <= TAGS_MAX, {
    error: `must have at most ${TAGS_MAX} tags`,
  })
  .meta({ maxProperties: TAGS_MAX })

/** The shape of a member outside of the record, as far as it differs from that of most members. */
export interface KeyMember {
  /** Its path in `spec` of a GatewayKey; its name in camel case if absent. Empty: it is not there. */
  readonly spec?: readonly string[]
  /** Its name for people; its name in words if absent. */
  readonly words?: string
  /** No list of keys shows it. */
  readonly isHidden?: true
  /** `gw keys list` shows it without `-o wide`. */
  readonly isColumn?: true
  readonly isMoment?: true
  /** A key that replaces another one does not take it over. */
  readonly isOwn?: true
}

export const KEY_MEMBERS = z.registry<KeyMember>()

/**
 * The one declaration of each member of a key: the resource, documents, lists of the admin API and the tool follow from it
 * (key-members.ts).
 */
export const ApiKey = z.strictObject({
  id: name()
    .describe('Names the key in logs, traces and metrics.')
    .register(KEY_MEMBERS, { spec: [], isOwn: true }),
  tenant: name().describe('Tenant whose limits and budgets the key uses.'),
  hash: z
    .string()
    .regex(
      /^sha256:[0-9a-f]{64}$/,
      'must be sha256: and 64 lower-case hex digits; `gw keys create` makes one',
    )
    .describe('sha256: and the hex SHA-256 of the whole key.')
    .register(KEY_MEMBERS, { isHidden: true, isOwn: true }),
  prefix: z
    .string()
    .max(64)
    .optional()
    .describe('First characters of the key, to recognise it by.')
    .register(KEY_MEMBERS, { isColumn: true, isOwn: true }),
  scopes: z
    .array(z.enum(SCOPES))
    .max(8)
    .default([...SCOPES])
    .describe('Permissions of the key; both if absent.')
    .register(KEY_MEMBERS, { isColumn: true }),
  routes: z
    .array(z.union([z.literal('*'), name(), namePattern()]))
    .min(1)
    .max(1024)
    .describe(
      'Routes the key may use; ["*"] means all. For routes whose upstreams have model: "*", also names of models and ' +
        'patterns such as openai/gpt-4o*, as clients send them.',
    )
    .register(KEY_MEMBERS, { isColumn: true }),
  tags: Tags.optional()
    .describe(
      'Tags of its requests, such as {team: blue}; clients cannot change them. usage.tags declares the names.',
    )
    .register(KEY_MEMBERS, { isColumn: true }),
  expires_at: moment()
    .optional()
    .describe('From this moment on 401.')
    .register(KEY_MEMBERS, { words: 'expires', isColumn: true, isMoment: true, isOwn: true }),
  revoked_at: moment()
    .optional()
    .describe('A revoked key answers 401.')
    .register(KEY_MEMBERS, {
      spec: ['revoked', 'at'],
      words: 'revoked',
      isMoment: true,
      isOwn: true,
    }),
  reason: text()
    .optional()
    .describe('Why it was revoked.')
    .register(KEY_MEMBERS, { spec: ['revoked', 'reason'], isOwn: true }),
  rotated_to: name()
    .optional()
    .describe('Id of the key that replaces it; a rotated key answers 401.')
    .register(KEY_MEMBERS, { words: 'replaced by', isOwn: true }),
})

export type ApiKeyRecord = z.output<typeof ApiKey>
