/** Medians of measurements, and the lines of a table that has them. */

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** A line for each figure, with the median of each column's measurements. */
export function medianLines<Name extends string>(
  rows: readonly (readonly [name: Name, label: string, digits: number])[],
  columns: readonly (readonly Readonly<Record<Name, number>>[])[],
): string[][] {
  return rows.map(([name, label, digits]) => [
    label,
    ...columns.map((figures) => median(figures.map((one) => one[name])).toFixed(digits)),
  ])
}
