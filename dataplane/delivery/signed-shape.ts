/** The shape of a proven document. Unknown members are allowed, because the signer may be newer. */
import { isIP } from 'node:net'
import { z } from 'zod'

const sequence = () => z.int().min(1).max(Number.MAX_SAFE_INTEGER)

const gateway = z.object({
  uid: z.string().min(1).max(253),
  namespace: z.string().max(253),
  name: z.string().max(253),
})

/** Only the members that identify a document; the payload is checked separately. */
const Configuration = z.object({
  kind: z.literal('Configuration'),
  gateway,
  sequence: sequence(),
  generation: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
  payload: z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({}).optional(),
    gw: z.record(z.string(), z.unknown()),
  }),
})

const RECORDS_MAX = 100_000
/** Records are checked one by one: a bad one must not delay the revocation of another. */
const records = () => z.array(z.unknown()).max(RECORDS_MAX)

const Keys = z.object({
  kind: z.literal('Keys'),
  gateway,
  sequence: sequence(),
  keys: records(),
})

const KeyChanges = z.object({
  kind: z.literal('Keys'),
  gateway,
  sequence: sequence(),
  changes: z.object({
    base: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    put: records(),
    remove: z.array(z.string().max(128)).max(RECORDS_MAX),
  }),
})

/** Bounds of numbers are checked later, with messages. */
const Endpoints = z.object({
  kind: z.literal('Endpoints'),
  gateway,
  sequence: sequence(),
  upstreams: z
    .array(
      z.object({
        name: z.string().min(1).max(253),
        endpoints: z
          .array(
            z.object({
              id: z.string().min(1).max(128),
              address: z.string().refine((text) => isIP(text) !== 0, 'must be an address'),
              port: z.int().min(1).max(65_535),
              zone: z.string().max(63).optional(),
            }),
          )
          .max(RECORDS_MAX),
      }),
    )
    .max(RECORDS_MAX),
  unknown: z.array(z.string().max(253)).max(RECORDS_MAX).optional(),
  zones: z.record(z.string().max(253), z.string().max(63)).optional(),
})

export type ReadEndpoints = z.output<typeof Endpoints>
export type ReadConfiguration = z.output<typeof Configuration>
export type ReadKeys = z.output<typeof Keys> | z.output<typeof KeyChanges>

export type ReadDocument<T> = { readonly document: T } | { readonly fault: string }

export function readConfigurationDocument(value: unknown): ReadDocument<ReadConfiguration> {
  return read(Configuration, value)
}

export function readKeysDocument(value: unknown): ReadDocument<ReadKeys> {
  const isChange = typeof value === 'object' && value !== null && 'changes' in value
  return isChange ? read(KeyChanges, value) : read(Keys, value)
}

export function readEndpointsDocument(value: unknown): ReadDocument<ReadEndpoints> {
  return read(Endpoints, value)
}

function read<T>(schema: z.ZodType<T>, value: unknown): ReadDocument<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { document: parsed.data }
  const [issue] = parsed.error.issues
  const place = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `
  return { fault: `${place}${issue?.message ?? 'not a document of this kind'}` }
}
