/** The kinds of field of both resources, and the parts that only an API server understands. */
import { z } from 'zod'

/** A rule in the Common Expression Language, checked by the API server. */
export interface Rule {
  readonly rule: string
  /** The mistake, and the value to write instead. */
  readonly message: string
  /** The field of the object with the mistake. */
  readonly fieldPath?: string
}

/** The same rule twice: for the API server, and for validation without one. */
export interface SharedRule<Value> extends Rule {
  readonly holds: (value: Value) => boolean
}

export function ruled<Schema extends z.ZodType>(
  schema: Schema,
  ...list: readonly SharedRule<z.output<Schema>>[]
): Schema {
  const checked = list.reduce(
    (before, { holds, message }) => before.refine(holds, { error: message }),
    schema,
  )
  return checked.meta(rules(...list.map(({ rule, message }) => ({ rule, message }))))
}

export function rules(...list: readonly Rule[]): { 'x-kubernetes-validations': readonly Rule[] } {
  return { 'x-kubernetes-validations': list }
}

/** These fields identify entries, and several writers may own different entries. */
export function listMap(...keys: readonly string[]) {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
}

/** A list whose entries are identified by name. */
export function namedList<Entry extends z.ZodType<{ name: string }>>(entry: Entry, most: number) {
  return z
    .array(entry)
    .max(most)
    .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, {
      error: 'has two entries with one name',
    })
    .meta(listMap('name'))
}

/** A name in the form that the API server requires for most objects: lower case, as in a host name. */
export const objectName = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be lower-case letters, digits, - and .')

/** A name of a namespace, a port or a container: one part of a host name. */
export const label = () =>
  z
    .string()
    .min(1)
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be lower-case letters, digits and -')

export const line = (most = 253) => z.string().max(most)

/** A map with a bound on its entries, which JSON schema and the API server both understand. */
export const map = (entriesMax: number, valueLengthMax: number) =>
  z
    .record(z.string().max(317), z.string().max(valueLengthMax))
    .refine((entries) => Object.keys(entries).length <= entriesMax, {
      error: `must have at most ${entriesMax} entries`,
    })
    .meta({ maxProperties: entriesMax })

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
const LABEL_NAME =
  /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** A structural schema cannot check names in a map, so the operator checks them. */
const areNames = (entries: object) => Object.keys(entries).every((key) => LABEL_NAME.test(key))
const NAMES = {
  error:
    'has a name that Kubernetes does not accept; write NAME or PREFIX/NAME of letters, digits, dots, - and _',
}

export const labels = () =>
  z
    .record(
      z.string().max(317),
      z.string().max(63).regex(LABEL_VALUE, 'must be at most 63 letters, digits, -, _ and .'),
    )
    .refine((entries) => Object.keys(entries).length <= 64, {
      error: 'must have at most 64 entries',
    })
    .refine(areNames, NAMES)
    .meta({ maxProperties: 64 })

export const annotations = () => map(64, 16_384).refine(areNames, NAMES).meta({ maxProperties: 64 })

/** A count, or a share such as 25%. */
export const countOrShare = () =>
  z
    .union([z.int().min(0).max(10_000), z.string().regex(/^(100|[1-9]?[0-9])%$/, 'such as 25%')])
    .meta({
      'x-kubernetes-int-or-string': true,
      ...rules({
        rule: "type(self) == int ? self >= 0 && self <= 10000 : self.matches('^(100|[1-9]?[0-9])%$')",
        message: 'must be a count such as 1 or a share such as 25%',
      }),
    })

export const moment = () => z.iso.datetime({ offset: true })

/** Members of every object; the API server defines the rest of them. */
export const Metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().default('default'),
  uid: z.string().default(''),
  generation: z.int().default(0),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  resourceVersion: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
})
