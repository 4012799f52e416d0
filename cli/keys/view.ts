/** A key in the form of the tool's output, from any source. */
import { z } from 'zod'
import { isRecord } from '../../dataplane/json/values.ts'
import { MEMBERS, type NamedMember } from '../../dataplane/schema/key-members.ts'
import { ApiKey, type ApiKeyRecord } from '../../dataplane/schema/keys.ts'
import { stateOf } from '../../operator/compile/compile-keys.ts'
import { fullTime, relativeTime } from '../printing/ages.ts'
import { state } from '../printing/colours.ts'
import { printFacts, printTable } from '../printing/tables/table.ts'

const SHOWN = MEMBERS.filter(({ isHidden }) => isHidden !== true)
const REST = SHOWN.filter(({ name }) => name !== 'id' && name !== 'tenant')

export type KeyView = Omit<ApiKeyRecord, 'hash' | 'scopes'> & {
  readonly status: string
  readonly scopes: readonly string[]
}

/** A gateway of another release may send values that this release would refuse. */
export const KeyView = z.object({
  id: z.string(),
  tenant: z.string(),
  status: z.string(),
  ...Object.fromEntries(REST.map(({ name, schema }) => [name, ofAnyValue(schema)])),
}) as unknown as z.ZodType<KeyView>

function ofAnyValue(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return ofAnyValue(schema.unwrap() as z.ZodType).optional()
  if (schema instanceof z.ZodDefault) return ofAnyValue(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodArray) return z.array(ofAnyValue(schema.element as z.ZodType))
  if (schema instanceof z.ZodRecord) return z.record(z.string(), z.string())
  if (schema instanceof z.ZodNumber) return z.number()
  return schema instanceof z.ZodBoolean ? z.boolean() : z.string()
}

/** undefined if a gateway would refuse the record. */
export function viewOf(record: unknown, now: number): KeyView | undefined {
  const parsed = ApiKey.safeParse(record)
  if (!parsed.success) return undefined
  const { hash: _, ...rest } = parsed.data
  // Undefined members are omitted from the output.
  return KeyView.parse({ ...rest, status: stateOf(parsed.data as never, now) })
}

/** Either text may be longer, because users paste different parts of a key. */
export function hasPrefix({ prefix }: KeyView, given: string): boolean {
  return prefix !== undefined && (prefix.startsWith(given) || given.startsWith(prefix))
}

const COLUMNS = REST.filter(({ isColumn }) => isColumn === true)
const MORE = REST.filter(({ isColumn }) => isColumn !== true)

export function printKeys(keys: readonly KeyView[], isWide: boolean): void {
  const columns = isWide ? [...COLUMNS, ...MORE] : COLUMNS
  printTable(
    ['ID', 'TENANT', 'STATUS', ...columns.map(({ words }) => words.toUpperCase())],
    keys.map((key) => [
      key.id,
      key.tenant,
      state(key.status),
      ...columns.map((member) => shown(key, member, ',', relativeTime)),
    ]),
    isWide,
  )
}

export function printKey(key: KeyView): void {
  printFacts([
    ['id', key.id],
    ['tenant', key.tenant],
    ['status', state(key.status)],
    ...REST.map((member): [string, string | undefined] => [
      member.words,
      shown(key, member, ', ', fullTime),
    ]),
  ])
}

function shown(
  key: KeyView,
  { name, isMoment }: NamedMember,
  between: string,
  timeText: (time: string | undefined) => string | undefined,
): string | undefined {
  const value: unknown = Object(key)[name]
  if (value === undefined) return undefined
  if (isMoment) return timeText(String(value))
  if (Array.isArray(value)) return value.join(between)
  if (!isRecord(value)) return String(value)
  return Object.entries(value)
    .map(([tag, one]) => `${tag}=${one}`)
    .join(between)
}
