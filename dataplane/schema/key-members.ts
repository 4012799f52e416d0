/** Members of a key as their declaration has them, for everything that reads or shows a whole record. */
import type { z } from 'zod'
import { valueBelow } from '../json/values.ts'
import { ApiKey, type ApiKeyRecord, KEY_MEMBERS, type KeyMember } from './keys.ts'

export interface NamedMember extends KeyMember {
  readonly name: string
  readonly schema: z.ZodType
  readonly spec: readonly string[]
  readonly words: string
}

export const MEMBERS: readonly NamedMember[] = Object.entries(ApiKey.shape).map(
  ([name, schema]) => ({
    name,
    schema,
    spec: [name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())],
    words: name.replaceAll('_', ' '),
    ...KEY_MEMBERS.get(schema),
  }),
)

const IN_SPEC = MEMBERS.filter(({ spec }) => spec.length > 0)

type Members = Readonly<Record<string, unknown>>

/** Where a member is in a GatewayKey. */
export function specPath(member: string): readonly string[] {
  return IN_SPEC.find(({ name }) => name === member)?.spec ?? [member]
}

/** The members that `spec` of a GatewayKey has, by their names in the record. */
export function membersInSpec(spec: unknown): Members {
  return Object.fromEntries(
    IN_SPEC.map(({ name, spec: path }) => [name, valueBelow(spec, ...path)]),
  )
}

/** The record as `spec` of a GatewayKey, without members that are absent. */
export function specOf(record: ApiKeyRecord): Members {
  const spec: Record<string, unknown> = {}
  for (const { name, spec: path } of IN_SPEC) {
    const value = record[name as keyof ApiKeyRecord]
    const [member = name, below] = path
    if (value === undefined) continue
    spec[member] = below === undefined ? value : { ...Object(spec[member]), [below]: value }
  }
  return spec
}

/** The schemas of members that `spec` of a GatewayKey has under one name. */
export function specSchemas(): Readonly<Record<string, z.ZodType>> {
  const plain = IN_SPEC.filter(({ spec }) => spec.length === 1)
  return Object.fromEntries(plain.map(({ spec, schema }) => [spec[0], schema]))
}

/** The record as lists show it: never the hash. */
export function shownMembers(record: ApiKeyRecord): Members {
  const shown = MEMBERS.filter(({ isHidden }) => isHidden !== true)
  return Object.fromEntries(shown.map(({ name }) => [name, record[name as keyof ApiKeyRecord]]))
}

/** The members that a key has in common with the one that it replaces, without those that are absent. */
export function lastingMembers(record: Members): Members {
  const lasting = MEMBERS.filter(({ isOwn }) => isOwn !== true)
  return Object.fromEntries(
    lasting.flatMap(({ name }) => (record[name] === undefined ? [] : [[name, record[name]]])),
  )
}
