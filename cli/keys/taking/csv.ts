/** CSV as databases write it: quotes, line breaks in cells, and the line of each row. */

export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

export type Csv =
  | { readonly rows: readonly CsvRow[] }
  | { readonly line: number; readonly fault: string }

const ROWS_MAX = 100_001
const CELLS_MAX = 200
const CELL_MAX = 65_536

export function readCsv(text: string): Csv {
  const rows: CsvRow[] = []
  let at = text.startsWith('\uFEFF') ? 1 : 0
  let line = 1
  while (at < text.length) {
    const start = line
    const cells: string[] = []
    for (;;) {
      const cell = cellAt(text, at)
      if (cell === undefined) return { line: start, fault: 'a quote is not closed' }
      line += cell.lines
      at = cell.end
      cells.push(cell.value)
      if (cell.value.length > CELL_MAX) return { line, fault: 'a cell is longer than 64 KiB' }
      if (cells.length > CELLS_MAX) return { line, fault: `a row has more than ${CELLS_MAX} cells` }
      if (text[at] !== ',') break
      at += 1
    }
    if (at < text.length && !/[\r\n]/.test(text[at] ?? ''))
      return { line, fault: 'text follows a quoted cell' }
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    line += 1
    const isBlank = cells.length === 1 && cells[0] === ''
    if (!isBlank) rows.push({ line: start, cells })
    if (rows.length > ROWS_MAX) return { line, fault: 'there are more than 100,000 rows' }
  }
  return { rows }
}

interface Cell {
  readonly value: string
  readonly end: number
  /** Line breaks in it. */
  readonly lines: number
}

function cellAt(text: string, at: number): Cell | undefined {
  if (text[at] !== '"') {
    const end = at + (/[,\r\n]/.exec(text.slice(at, at + CELL_MAX + 2))?.index ?? text.length)
    return { value: text.slice(at, end), end: Math.min(end, text.length), lines: 0 }
  }
  let end = at + 1
  for (;;) {
    end = text.indexOf('"', end)
    if (end === -1) return undefined
    if (text[end + 1] !== '"') break
    end += 2
  }
  const value = text.slice(at + 1, end).replaceAll('""', '"')
  return { value, end: end + 1, lines: value.split('\n').length - 1 }
}
