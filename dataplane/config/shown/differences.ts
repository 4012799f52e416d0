/** The differences of two configurations by field, with credentials masked. */

import { isRecord } from '../../json/values.ts'
import { mapStrings, startsWith, type Tree } from '../document/tree.ts'
import { type Path, showPath } from '../judgement/problems.ts'
import { shownText } from './masking.ts'

export interface Difference {
  /** Entries of lists by their name where they have one: `gw.routes[chat].timeout_seconds`. */
  readonly path: string
  /** Absent if the field is only in the new configuration. Credentials are masked. */
  readonly old?: unknown
  /** Absent if the field is only in the old one. */
  readonly new?: unknown
  /** True if both sides look the same because the difference is masked. */
  readonly hidden?: true
  /** Whether the change takes effect without a change to upstreams, routes or listeners. */
  readonly reloadable: boolean
}

/** One of the two configurations: its tree in canonical form, and how its strings are shown. */
export interface Side {
  readonly tree: unknown
  shown(value: string, path: Path): string
}

/** How strings are shown if their written form is unknown. */
export function shownAsWritten(value: string, path: Path): string {
  const isVariable = path[0] === 'spec' && path[1] === 'env' && path.at(-1) === 'value'
  return isVariable ? '***' : shownText(value, path, undefined)
}

export function differencesBetween(old: Side, fresh: Side): Difference[] {
  const found: Difference[] = []
  const place = ({ tree }: Side) => ({ value: withBackend(tree), path: [] })
  compare(place(old), place(fresh), '', { old, fresh, found })
  return found
}

/** Adds the default backend, so that writing limits for the first time is no change of the store. */
function withBackend(tree: unknown): unknown {
  if (!isRecord(tree) || !isRecord(tree.gw)) return tree
  const limits = tree.gw.rate_limits
  return { ...tree, gw: { ...tree.gw, rate_limits: { backend: 'memory', ...mapOf(limits) } } }
}

/** Limits, prices and keys; every other change waits for a whole reload or for new pods. */
const RELOADABLE: readonly Path[] = [
  ['gw', 'rate_limits', 'default'],
  ['gw', 'rate_limits', 'tenants'],
  ['gw', 'budgets'],
  ['gw', 'limits'],
  ['gw', 'pricing'],
  ['gw', 'api_keys'],
]

interface EntryPlace {
  readonly value: unknown
  readonly path: Path
}

interface Comparison {
  readonly old: Side
  readonly fresh: Side
  readonly found: Difference[]
}

function compare(
  old: EntryPlace,
  fresh: EntryPlace,
  shownPath: string,
  comparison: Comparison,
): void {
  // Defaults below an absent section are no difference of the section.
  if (isSection(old) && isSection(fresh) && (isRecord(old.value) || isRecord(fresh.value))) {
    const [one, other] = [mapOf(old.value), mapOf(fresh.value)]
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const path = join(shownPath, key)
      compare(below(old, key, one[key]), below(fresh, key, other[key]), path, comparison)
    }
    return
  }
  const key = identityOf(old.value, fresh.value)
  if (key === undefined) note(old, fresh, shownPath, comparison)
  else compareEntries(old, fresh, { key, shownPath }, comparison)
}

/** Maps are entered; a list, too, is entered by the names of its entries. */
function isSection({ value }: EntryPlace): boolean {
  return isRecord(value) || value === undefined
}

function compareEntries(
  old: EntryPlace,
  fresh: EntryPlace,
  { key, shownPath }: { readonly key: string; readonly shownPath: string },
  comparison: Comparison,
): void {
  const [one, other] = [entriesOf(old, key), entriesOf(fresh, key)]
  for (const name of new Set([...one.keys(), ...other.keys()])) {
    const [before, after] = [one.get(name), other.get(name)]
    const path = `${shownPath}[${name}]`
    if (before !== undefined && after !== undefined) compare(before, after, path, comparison)
    else note(before ?? NOTHING, after ?? NOTHING, path, comparison)
  }
}

const NOTHING: EntryPlace = { value: undefined, path: [] }

function note(
  old: EntryPlace,
  fresh: EntryPlace,
  path: string,
  { old: one, fresh: other, found }: Comparison,
) {
  const [before, after] = [shownOf(old, one), shownOf(fresh, other)]
  const looksSame = same(before, after)
  if (looksSame && same(old.value, fresh.value)) return
  const where = fresh.value === undefined ? old.path : fresh.path
  found.push({
    path,
    ...(before === undefined ? {} : { old: before }),
    ...(after === undefined ? {} : { new: after }),
    ...(looksSame ? { hidden: true as const } : {}),
    reloadable: RELOADABLE.some((prefix) => startsWith(where, prefix)),
  })
}

function shownOf({ value, path }: EntryPlace, side: Side): unknown {
  return mapStrings(value, (text, at) => side.shown(text, [...path, ...at]))
}

const IDENTITIES = ['name', 'tenant', 'id', 'model']

/** The member that identifies all entries of both lists. */
function identityOf(old: unknown, fresh: unknown): string | undefined {
  const lists = [old ?? [], fresh ?? []]
  if (old === undefined && fresh === undefined) return undefined
  return IDENTITIES.find((key) =>
    lists.every((list) => {
      if (!Array.isArray(list) || !list.every(isRecord)) return false
      const names = list.map((entry: Tree) => entry[key])
      return names.every((name) => typeof name === 'string') && new Set(names).size === names.length
    }),
  )
}

function entriesOf({ value, path }: EntryPlace, key: string): Map<string, EntryPlace> {
  const list = Array.isArray(value) ? value : []
  // `identityOf` has seen that each entry is a map with this text.
  return new Map(list.map((entry, index) => [entry[key], { value: entry, path: [...path, index] }]))
}

function below({ path }: EntryPlace, key: string, value: unknown): EntryPlace {
  return { value, path: [...path, key] }
}

function mapOf(value: unknown): Tree {
  return isRecord(value) ? value : {}
}

function join(shown: string, key: string): string {
  const name = showPath([key])
  return shown === '' || name.startsWith('[') ? `${shown}${name}` : `${shown}.${name}`
}

/** The order of members is no difference. */
function same(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, index) => same(entry, other[index]))
  }
  if (!isRecord(one) || !isRecord(other)) return one === other
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...keys].every((key) => same(one[key], other[key]))
}
