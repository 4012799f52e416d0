/** Medians of measurements, and the lines of their table. */

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Half of the interval around the median, in square roots of the number of values: the binomial distribution's 95 %. */
const INTERVAL = 0.98

/** The median, and the ends of an interval that contains that of a longer measurement in 19 of 20 cases. */
export function interval(values: readonly number[]): { low: number; middle: number; high: number } {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const half = Math.ceil(INTERVAL * Math.sqrt(sorted.length))
  return {
    low: sorted[Math.max(0, middle - half)] ?? Number.NaN,
    middle: sorted[middle] ?? Number.NaN,
    high: sorted[Math.min(sorted.length - 1, middle + half)] ?? Number.NaN,
  }
}

/** A line for each number, with the median of each column's measurements. */
export function medianLines<Name extends string>(
  rows: readonly (readonly [name: Name, label: string, digits: number])[],
  columns: readonly (readonly Readonly<Record<Name, number>>[])[],
): string[][] {
  return rows.map(([name, label, digits]) => [
    label,
    ...columns.map((figures) => median(figures.map((one) => one[name])).toFixed(digits)),
  ])
}
