/** Tables that fit a terminal of 80 columns: the widest cells go on in the next line. */

const WIDTH = 80
const GAP = '  '
const NARROWEST = 10

/** Lines of a table; what is not there is a hyphen. A column that is cut off nowhere keeps its width. */
export function narrowTable(
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
): string[] {
  const cells = [head, ...rows].map((row) => head.map((_, index) => String(row[index] ?? '-')))
  const widths = fitted(
    head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))),
  )
  return cells.flatMap((row) => {
    const columns = row.map((cell, column) => wrapped(cell, widths[column] ?? NARROWEST))
    const height = Math.max(...columns.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) =>
      columns
        .map((lines, column) => (lines[line] ?? '').padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
  })
}

/** The widest column gives way first. */
function fitted(wanted: readonly number[]): number[] {
  const widths = [...wanted]
  const room = WIDTH - GAP.length * (widths.length - 1)
  for (;;) {
    const over = widths.reduce((sum, width) => sum + width, 0) - room
    const widest = Math.max(...widths)
    if (over <= 0 || widest <= NARROWEST) return widths
    const next = Math.max(NARROWEST, ...widths.filter((width) => width < widest))
    const isLast = widths.filter((width) => width === widest).length === 1
    const step = isLast ? Math.min(over, Math.max(1, widest - next)) : 1
    widths[widths.indexOf(widest)] = widest - step
  }
}

/** At a space where there is one, behind a comma or a hyphen else, and anywhere if need be. */
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
