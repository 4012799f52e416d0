/** A page of the history, as memory, disk and Redis keep it: compressed JSON of the counts of a minute or an hour. */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { parseJson } from '../../json/parse.ts'
import { Cells, KINDS, type Kind } from './cells.ts'
import { AMOUNTS, bump, type Counts, FIRST_AT, TIMES, WHOLE_AT } from './counts.ts'

export type Page = Uint8Array

/** No page is larger when it is read, since a store may return anything. */
const BYTES_MAX = 1_048_576

/** Amounts, then pairs of bucket and count: of whole answers, of first tokens. */
type PackedCounts = readonly [amounts: number[], whole: number[], first: number[]]
type Sheet = Partial<Record<Kind, Readonly<Record<string, PackedCounts>>>>

export function packed(value: unknown): Page {
  // A copy, because the result is a part of a larger buffer.
  return new Uint8Array(deflateRawSync(JSON.stringify(value)))
}

/** undefined for what no gateway of this release wrote. */
export function unpacked(page: Page): unknown {
  try {
    const text = inflateRawSync(page, { maxOutputLength: BYTES_MAX }).toString()
    return parseJson(text)
  } catch {
    return undefined
  }
}

export function pageOf(cells: Cells): Page {
  const sheet: Record<string, unknown> = {}
  const kept = cells.bounded()
  for (const kind of KINDS) {
    const named = [...kept.entries(kind)].map(([name, counts]) => [name, written(counts)] as const)
    if (named.length > 0) sheet[kind] = Object.fromEntries(named)
  }
  return packed(sheet)
}

/** Only some kinds, for a reader that needs no more. */
export function cellsOf(page: Page | undefined, kinds: readonly Kind[] = KINDS): Cells {
  const cells = new Cells()
  // Pages of this key are of this form; a damaged one is empty.
  const sheet = ((page && unpacked(page)) ?? {}) as Sheet
  for (const kind of kinds)
    for (const [name, one] of Object.entries(sheet[kind] ?? {})) readInto(cells.at(kind, name), one)
  return cells
}

function written(counts: Counts): PackedCounts {
  return [
    [...counts.subarray(0, AMOUNTS.length)],
    pairs(counts.subarray(WHOLE_AT, WHOLE_AT + TIMES)),
    pairs(counts.subarray(FIRST_AT, FIRST_AT + TIMES)),
  ]
}

function pairs(buckets: Counts): number[] {
  const found: number[] = []
  for (const [index, count] of buckets.entries()) if (count > 0) found.push(index, count)
  return found
}

function readInto(counts: Counts, [amounts, whole, first]: PackedCounts): void {
  for (const [index, amount] of amounts.entries()) bump(counts, index, amount)
  for (const [start, list] of [
    [WHOLE_AT, whole],
    [FIRST_AT, first],
  ] as const)
    for (let at = 0; at + 1 < list.length; at += 2)
      bump(counts, start + (list[at] ?? 0), list[at + 1])
}
