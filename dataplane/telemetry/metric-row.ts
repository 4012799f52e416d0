/** A row of the table of metrics, and its family. */
import { Histogram, type Labels, Numbers } from './series.ts'

interface Row<Kind extends string> {
  readonly kind: Kind
  readonly name: string
  readonly help: string
  readonly labels: Labels
  readonly parts?: number
}

export function createFamily(row: Row<'counter' | 'gauge' | 'histogram'>): Numbers | Histogram {
  if (row.kind === 'histogram') return new Histogram(row.name, row.help, row.labels)
  return new Numbers({ ...row, kind: row.kind })
}

export function counter(name: string, help: string, ...labels: Labels): Row<'counter'> {
  return { kind: 'counter', name, help, labels }
}

/** USD whose cells are whole nano-dollars. */
export function nanos(name: string, help: string, ...labels: Labels): Row<'counter'> {
  return { kind: 'counter', name, help, labels, parts: 1e9 }
}

export function gauge(name: string, help: string, ...labels: Labels): Row<'gauge'> {
  return { kind: 'gauge', name, help, labels }
}

export function histogram(name: string, help: string, ...labels: Labels): Row<'histogram'> {
  return { kind: 'histogram', name, help, labels }
}
