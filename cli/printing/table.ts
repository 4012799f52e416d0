/** Tables. On a terminal, long cells continue in the next line; elsewhere each row is one line, for grep and awk. */
import { type Colour, type Painted, paint } from './colours.ts'
import { printLine } from './output.ts'

const TERMINAL_WIDTH = 80
const GAP = '  '
const NARROWEST = 10

type TableRow = readonly unknown[]

/** A hyphen marks an absent value, so that every line has all columns. With `isWide` nothing is wrapped. */
export function printTable(
  head: readonly string[],
  rows: readonly TableRow[],
  isWide = false,
): void {
  const { isTTY, columns } = process.stdout
  const width = isWide || !isTTY ? Number.POSITIVE_INFINITY : columns || TERMINAL_WIDTH
  const colour = (text: string, name: Colour | undefined) => paint(text, name, process.stdout)
  for (const line of tableLines(head, rows, { width, colour })) printLine(line)
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
}

export function tableLines(
  head: readonly string[],
  rows: readonly TableRow[],
  { width, colour = (text) => text }: Layout,
): string[] {
  const cells = [head, ...rows].map((row) => head.map((_, index) => cellOf(row[index])))
  const widest = head.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.text.length ?? 0)),
  )
  const widths = fitted(widest, width)
  return cells.flatMap((row) => {
    const columns = row.map(({ text }, column) => wrapped(text, widths[column] ?? NARROWEST))
    const height = Math.max(...columns.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) => {
      const texts = columns.map((lines) => lines[line] ?? '')
      const last = texts.findLastIndex((text) => text !== '')
      return texts
        .slice(0, last + 1)
        .map((text, column) => {
          const space = column === last ? '' : ' '.repeat((widths[column] ?? 0) - text.length)
          return `${text === '' ? '' : colour(text, row[column]?.colour)}${space}`
        })
        .join(GAP)
    })
  })
}

const STEERING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Clients and upstreams choose some of these texts, so their characters must not control a terminal. */
export function unsteered(text: string): string {
  return text.replace(STEERING, ' ')
}

function cellOf(value: unknown): Painted {
  if (isPainted(value)) return { ...value, text: unsteered(value.text) }
  return { text: unsteered(String(value ?? '-')), colour: undefined }
}

function isPainted(value: unknown): value is Painted {
  return typeof value === 'object' && value !== null && 'text' in value
}

/** The widest column shrinks first. */
function fitted(wanted: readonly number[], width: number): number[] {
  const widths = [...wanted]
  const room = width - GAP.length * (widths.length - 1)
  for (;;) {
    const over = widths.reduce((sum, one) => sum + one, 0) - room
    const widest = Math.max(...widths)
    if (over <= 0 || widest <= NARROWEST) return widths
    const next = Math.max(NARROWEST, ...widths.filter((one) => one < widest))
    const isLast = widths.filter((one) => one === widest).length === 1
    const step = isLast ? Math.min(over, Math.max(1, widest - next)) : 1
    widths[widths.indexOf(widest)] = widest - step
  }
}

/** Wraps at a space if there is one, else after a comma or a hyphen, else anywhere. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = text
  while (rest.length > width) {
    const part = rest.slice(0, width + 1)
    const space = part.lastIndexOf(' ')
    const joint = Math.max(...[',', '-', '/'].map((mark) => part.slice(0, width).lastIndexOf(mark)))
    const end = space > 0 ? space : joint > 0 ? joint + 1 : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}
