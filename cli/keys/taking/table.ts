/** The rows of a table that a database or an API wrote, as CSV or JSON, each with its line. */

import { parseDocument } from '../../../dataplane/config/document/document.ts'
import { parseJson } from '../../../dataplane/json/parse.ts'
import { isRecord } from '../../../dataplane/json/values.ts'
import { readCsv } from './csv.ts'

export interface TableRow {
  readonly line: number
  readonly cells: Readonly<Record<string, unknown>>
}

export interface Table {
  readonly name: string
  readonly rows: readonly TableRow[]
}

const BYTES_MAX = 64 * 1024 * 1024
const ROWS_MAX = 100_000

/** Throws a sentence with the line if the text is no such table. `lists`: members that hold the rows in JSON. */
export function readTable(name: string, text: string, lists: readonly string[]): Table {
  if (text.length > BYTES_MAX) throw new Error(`${name} has more than 64 MiB.`)
  const isJson = /^[\uFEFF\s]*[[{]/.test(text)
  const rows = isJson ? jsonRows(name, text, lists) : csvRows(name, text)
  if (rows.length === 0) throw new Error(`${name} has no rows.`)
  if (rows.length > ROWS_MAX) throw new Error(`${name} has more than 100,000 rows.`)
  return { name, rows }
}

function csvRows(name: string, text: string): TableRow[] {
  const csv = readCsv(text)
  if ('fault' in csv) throw new Error(`${name}:${csv.line}: ${csv.fault}.`)
  const [head, ...rows] = csv.rows
  const columns = head?.cells.map((cell) => cell.trim()) ?? []
  const twice = columns.find((column, index) => columns.indexOf(column) !== index)
  if (twice !== undefined)
    throw new Error(`${name}:1: the column ${JSON.stringify(twice)} is there twice.`)
  return rows.map(({ line, cells }) => {
    if (cells.length !== columns.length)
      throw new Error(
        `${name}:${line}: the row has ${cells.length} cells, and the header has ${columns.length}.`,
      )
    return { line, cells: Object.fromEntries(columns.map((column, at) => [column, cells[at]])) }
  })
}

function jsonRows(name: string, text: string, lists: readonly string[]): TableRow[] {
  const lines = text.replace(/^\uFEFF/, '').trimEnd()
  if (/^\{.*\}\n\{/.test(lines))
    return lines.split('\n').map((line, at) => jsonLine(name, line, at + 1))
  const { document, problems } = parseDocument(lines, name, 'map or list')
  if (document === undefined)
    throw new Error(`${name}:${problems[0]?.line}: ${problems[0]?.message}.`)
  const { tree } = document
  const member = isRecord(tree) ? lists.find((one) => Array.isArray(tree[one])) : undefined
  const list: unknown = member === undefined ? tree : Object(tree)[member]
  if (!Array.isArray(list))
    throw new Error(
      `${name} has no rows: give a list of objects, or an object with ${lists.join(' or ')}.`,
    )
  const root = member === undefined ? [] : [member]
  return list.map((cells: unknown, index) => {
    const { line } = document.positionOf([...root, index])
    if (!isRecord(cells)) throw new Error(`${name}:${line}: the row is not an object.`)
    return { line, cells }
  })
}

function jsonLine(name: string, line: string, number: number): TableRow {
  try {
    const cells: unknown = parseJson(line)
    if (isRecord(cells)) return { line: number, cells }
  } catch {
    // The sentence below has the line.
  }
  throw new Error(`${name}:${number}: the line is not a JSON object.`)
}
