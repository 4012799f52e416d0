/** The outcome of each field of a foreign configuration, for people and programs. */
import { showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { printTable } from '../printing/tables/table.ts'
import type { Account, Outcome } from './field.ts'

export interface MovedField {
  readonly line: number
  readonly path: string
  readonly outcome: Outcome
  /** Paths in the configuration that was written. */
  readonly became: readonly string[]
  readonly note?: string | undefined
}

type PathOf = ReadonlyMap<object, readonly (string | number)[]>

export function fieldsOf(accounts: readonly Account[], tree: object): MovedField[] {
  const pathOf = new Map<object, readonly (string | number)[]>()
  placeAll(tree, [], pathOf)
  return accounts.map(({ line, path, outcome, places, note }) => ({
    line,
    path: showPath(path),
    outcome,
    became: [...new Set(places.flatMap((place) => shownPlace(place, pathOf)))],
    ...(note !== undefined && { note }),
  }))
}

function shownPlace({ owner, member }: Account['places'][number], pathOf: PathOf): string[] {
  const path = pathOf.get(owner)
  return path === undefined ? [] : [showPath(member === '' ? path : [...path, member])]
}

function placeAll(
  value: unknown,
  path: readonly (string | number)[],
  pathOf: Map<object, readonly (string | number)[]>,
): void {
  if (Array.isArray(value)) {
    pathOf.set(value, path)
    for (const [index, entry] of value.entries()) placeAll(entry, [...path, index], pathOf)
  } else if (isRecord(value)) {
    pathOf.set(value, path)
    for (const [name, entry] of Object.entries(value)) placeAll(entry, [...path, name], pathOf)
  }
}

export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  kept: 'taken as it is',
  changed: 'changed',
  no_place: 'no place',
}

export function printFields(fields: readonly MovedField[], isWide: boolean): void {
  const rows = fields.map(({ line, path, outcome, became, note }) => {
    const shown = isWide ? became.join(', ') : became[0]
    return [line, path, OUTCOME_WORDS[outcome], shown, note]
  })
  printTable(['LINE', 'FIELD', 'OUTCOME', 'BECAME', 'WHAT CHANGED, OR WHY NOT'], rows, isWide)
}

export function countsOf(fields: readonly MovedField[]): Readonly<Record<Outcome, number>> {
  const count = (outcome: Outcome) => fields.filter((one) => one.outcome === outcome).length
  return { kept: count('kept'), changed: count('changed'), no_place: count('no_place') }
}
