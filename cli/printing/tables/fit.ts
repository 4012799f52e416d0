/**
 * Fits a table into a terminal. A word is never broken, because it may be an id that users copy: the least important
 * column is left out first, then sentences and lists are cut at a word, then columns are left out from the right.
 */

export interface Sized {
  readonly title: string
  /** The cells below the title. */
  readonly texts: readonly string[]
}

/** Sentences and lists longer than this may be cut or wrapped. */
const TEXT_LEAST = 16
/** The room that a sentence gets before columns are left out for it. */
const TEXT_WANTED = 32

/** A longer word in a sentence may be wider than its column. */
const WORD_MOST = 40

interface Room {
  readonly room: number
  readonly gap: number
  /** Titles in the order in which columns are left out. */
  readonly least: readonly string[]
}

export function fitted<Column extends Sized>(
  all: readonly Column[],
  { room, gap, least }: Room,
): { readonly columns: readonly Column[]; readonly widths: readonly number[] } {
  const needs = (some: readonly Column[], most: number) =>
    some.reduce((sum, column) => sum + leastWidth(column, most, column === all[0]) + gap, -gap)
  const out = new Set<string>()
  const kept = () => all.filter(({ title }) => !out.has(title))
  for (const title of least) {
    if (needs(kept(), TEXT_WANTED) <= room) break
    out.add(title)
  }
  // Where a wide column had to go, a narrow one before it may fit again.
  for (const title of [...out].reverse()) {
    out.delete(title)
    if (needs(kept(), TEXT_WANTED) > room) out.add(title)
  }
  let columns = kept()
  while (columns.length > 1 && needs(columns, TEXT_LEAST) > room)
    columns = withoutOne(columns, room)
  // The same after columns were left out from the right.
  for (const column of all.filter((one) => !columns.includes(one))) {
    const most = least.includes(column.title) ? TEXT_WANTED : TEXT_LEAST
    const more = all.filter((one) => one === column || columns.includes(one))
    if (needs(more, most) <= room) columns = more
  }
  const spare = room - gap * (columns.length - 1)
  return { columns, widths: shrunk(columns, spare) }
}

/** A column that fills half the terminal alone, else the last one. The first column names the row and stays. */
function withoutOne<Column extends Sized>(columns: readonly Column[], room: number): Column[] {
  const wide = columns.findLastIndex(
    (column, index) => index > 0 && leastWidth(column, TEXT_LEAST) > room / 2,
  )
  return columns.toSpliced(wide === -1 ? -1 : wide, 1)
}

/** The widest text shrinks first. */
function shrunk(columns: readonly Sized[], room: number): number[] {
  const widths = columns.map(widestOf)
  const floors = columns.map((column, index) => leastWidth(column, TEXT_LEAST, index === 0))
  for (let over = widths.reduce((sum, one) => sum + one, 0) - room; over > 0; over -= 1) {
    const slack = widths.map((width, index) => (width > (floors[index] ?? width) ? width : 0))
    const widest = Math.max(...slack)
    if (widest === 0) break
    widths[slack.indexOf(widest)] = widest - 1
  }
  return widths
}

function widestOf({ title, texts }: Sized): number {
  return Math.max(title.length, ...texts.map((text) => text.length))
}

/** Words keep their length; of longer texts at most `most` columns are needed, but all of the word that names a row. */
function leastWidth(column: Sized, most: number, namesRow = false): number {
  const { title, texts } = column
  return Math.max(
    title.length,
    ...texts.map((text) =>
      isText(text)
        ? Math.min(text.length, Math.max(leastOf(text, most), namesRow ? firstBreak(text) + 1 : 0))
        : text.length,
    ),
  )
}

function leastOf(text: string, most: number): number {
  const longest = Math.max(...text.split(/[ ,]/).map((word) => word.length))
  return Math.max(most, Math.min(longest, WORD_MOST))
}

function isText(text: string): boolean {
  return /[ ,]/.test(text) && !isNumber(text)
}

/** With a sign, separators, a unit. */
export function isNumber(text: string): boolean {
  return /^[-+]?\d[\d,]*(\.\d+)?( ?(%|s|ms|USD))?$/.test(text)
}

/** Whole words and `…`; a text without a space or a comma stays. */
export function cutText(text: string, width: number): string {
  if (text.length <= width || !isText(text)) return text
  const end = lastBreak(text.slice(0, width), width - 1)
  const whole = text.slice(0, end).trimEnd()
  return whole.endsWith(',') && whole.length + 2 <= width ? `${whole} …` : `${whole}…`
}

/** Lines of whole words; a word that is longer than a line has a line of its length. */
export function wrappedText(text: string, width: number): string[] {
  if (!isText(text)) return [text]
  const lines: string[] = []
  let rest = text
  while (rest.length > width) {
    const end = lastBreak(rest.slice(0, width + 1), width)
    const stop = end > 0 ? end : firstBreak(rest)
    lines.push(rest.slice(0, stop).trimEnd())
    rest = rest.slice(stop).trimStart()
  }
  return rest === '' ? lines : [...lines, rest]
}

/** The length of the part of the text that ends with a whole word; 0 if the first word is longer. */
function lastBreak(text: string, most: number): number {
  const space = text.slice(0, most + 1).lastIndexOf(' ')
  const comma = text.slice(0, most).lastIndexOf(',') + 1
  return Math.max(space, comma, 0)
}

/** The end of the first word. */
function firstBreak(text: string): number {
  const found = text.search(/[ ,]/)
  return found === -1 ? text.length : found + 1
}
