/** Helpers for documents without a type. */
import { isRecord } from '../../json/values.ts'
import type { Path } from '../judgement/problems.ts'

export type Tree = Record<string, unknown>

/** Names of members that every object inherits. */
export const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** A copy in which every string went through `change`; maps and lists keep their shape. */
export function mapStrings(
  value: unknown,
  change: (text: string, path: Path) => unknown,
  path: Path = [],
): unknown {
  if (typeof value === 'string') return change(value, path)
  if (Array.isArray(value)) {
    return value.map((entry, index) => mapStrings(entry, change, [...path, index]))
  }
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, mapStrings(entry, change, [...path, key])]),
  )
}

export function startsWith(path: Path, prefix: Path): boolean {
  return prefix.length <= path.length && prefix.every((part, index) => path[index] === part)
}
