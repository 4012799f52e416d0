/**
 * Declared fields of a trace and of its attempts: the members that the tool reads, and those with a line in the tree.
 */
import { z } from 'zod'
import type { Field, FieldFacts } from '../../dataplane/telemetry/trace/field.ts'

const TYPES = { text: z.string(), number: z.number(), ms: z.number(), flag: z.boolean() }

type Types = typeof TYPES

type DeclaredFields = Readonly<Record<string, Field<unknown>>>

/** Members whose type JSON lacks are written by hand. */
type Members<F extends DeclaredFields> = {
  readonly [N in keyof F as F[N]['kind'] extends keyof Types ? N : never]: F[N] extends {
    kind: infer K extends keyof Types
  }
    ? F[N] extends { given: true } | { start: unknown }
      ? Types[K]
      : z.ZodOptional<z.ZodNullable<Types[K]>>
    : never
}

/** A gateway sends each field that has a value from the start. */
export function membersOf<F extends DeclaredFields>(fields: F): Members<F> {
  const members = Object.entries(fields).flatMap(([name, { kind, given, start }]) => {
    if (kind === 'part') return []
    return [[name, given || start !== undefined ? TYPES[kind] : TYPES[kind].nullish()]]
  })
  return Object.fromEntries(members) as Members<F>
}

/** `trace id: 4bf9…`, for each field whose declaration has a text. */
export function linesOf(
  fields: DeclaredFields,
  record: Readonly<Record<string, unknown>>,
): string[] {
  return Object.entries<FieldFacts>(fields).flatMap(([name, { tree }]) => {
    const shown = tree === undefined ? '' : wordsOf(record[name])
    return shown === '' ? [] : [`${tree}: ${shown}`]
  })
}

function wordsOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, one]) => `${name}: ${one}`)
    .join(', ')
}
