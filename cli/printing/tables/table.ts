/** Tables. In a pipe each row is one line, for grep and awk. On a terminal they fit into its width: see `fit.ts`. */
import { type Colour, type Painted, paint } from '../colours.ts'
import { printLine } from '../output.ts'
import { cutText, fitted, isNumber, type Sized, wrappedText } from './fit.ts'
import { numberText } from './money.ts'

const TERMINAL_WIDTH = 80
const GAP = '  '

type TableRow = readonly unknown[]

/**
 * A hyphen marks an absent value, so that every line has all columns. With `isWide` nothing is left out or cut. `least`:
 * titles of columns in the order in which a narrow terminal leaves them out.
 */
export function printTable(
  head: readonly string[],
  rows: readonly TableRow[],
  isWide = false,
  least: readonly string[] = [],
): void {
  const { isTTY, columns } = process.stdout
  const width = isWide || !isTTY ? Number.POSITIVE_INFINITY : columns || TERMINAL_WIDTH
  const colour = (text: string, name: Colour | undefined) => paint(text, name, process.stdout)
  for (const line of tableLines(head, rows, { width, colour, least })) printLine(line)
}

/** `label  value`, one a line; absent values are omitted. */
export function printFacts(facts: readonly (readonly [label: string, value: unknown])[]): void {
  const width = Math.max(...facts.map(([label]) => label.length))
  for (const [label, value] of facts) {
    if (value === undefined) continue
    const { text, colour } = cellOf(value)
    printLine(`${label.padEnd(width)}  ${paint(text, colour, process.stdout)}`)
  }
}

interface Layout {
  readonly width: number
  readonly colour?: (text: string, colour: Colour | undefined) => string
  readonly least?: readonly string[]
}

interface TableColumn extends Sized {
  readonly cells: readonly Painted[]
  readonly isNumeric: boolean
}

/** Numbers stand at the right. The last column, if it has sentences, goes on in the next line; others are cut with `…`. */
export function tableLines(
  head: readonly string[],
  rows: readonly TableRow[],
  { width, colour = (text) => text, least = [] }: Layout,
): string[] {
  const all = head.map((title, index) => columnOf(title, rows, index))
  const { columns, widths } = fitted(all, { room: width, gap: GAP.length, least })
  const last = columns.length - 1
  return Array.from({ length: rows.length + 1 }, (_, row) => row).flatMap((row) => {
    const texts = columns.map(({ cells }, column) => {
      const text = cells[row]?.text ?? ''
      const room = widths[column] ?? text.length
      return column === last ? wrappedText(text, room) : [cutText(text, room)]
    })
    const height = Math.max(...texts.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) => {
      const parts = texts.map((lines) => lines[line] ?? '')
      const end = parts.findLastIndex((text) => text !== '')
      const placed = parts.slice(0, end + 1).map((text, index) => {
        const { isNumeric = false, cells = [] } = columns[index] ?? {}
        const space = ' '.repeat(Math.max(0, (widths[index] ?? 0) - text.length))
        const painted = text === '' ? '' : colour(text, cells[row]?.colour)
        if (isNumeric) return `${space}${painted}`
        return index === end ? painted : `${painted}${space}`
      })
      return placed.join(GAP)
    })
  })
}

function columnOf(title: string, rows: readonly TableRow[], index: number): TableColumn {
  const below = rows.map((row) => cellOf(row[index]))
  const texts = below.map(({ text }) => text)
  const numbers = texts.filter((text) => text !== '-' && text !== '')
  // The first column names its row.
  const isNumeric = index > 0 && numbers.length > 0 && numbers.every(isNumber)
  return { title, texts, isNumeric, cells: [{ text: title, colour: undefined }, ...below] }
}

const STEERING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Clients and upstreams choose some of these texts, so their characters must not control a terminal. */
export function unsteered(text: string): string {
  return text.replace(STEERING, ' ')
}

function cellOf(value: unknown): Painted {
  if (isPainted(value)) return { ...value, text: unsteered(value.text) }
  if (typeof value === 'number') return { text: numberText(value), colour: undefined }
  return { text: unsteered(String(value ?? '-')), colour: undefined }
}

function isPainted(value: unknown): value is Painted {
  return typeof value === 'object' && value !== null && 'text' in value
}
