/** Differences of configurations for people: one line a field. */
import type { Difference } from '../../dataplane/config/shown/differences.ts'
import { type Colour, paint } from './colours.ts'

const VALUE_LENGTH_MAX = 160

export function printDifferences(
  differences: readonly Difference[],
  stream: NodeJS.WriteStream = process.stdout,
): void {
  for (const difference of differences) {
    const [text, colour] = lineOf(difference)
    stream.write(`${paint(text, colour, stream)}\n`)
  }
}

function lineOf(difference: Difference): readonly [string, Colour] {
  const { path, hidden } = difference
  if (!('old' in difference)) return [`+ ${path}: ${shown(difference.new)}`, 'green']
  if (!('new' in difference)) return [`- ${path}: ${shown(difference.old)}`, 'red']
  const change = hidden
    ? `${shown(difference.new)} (differs, and is secret)`
    : `${shown(difference.old)} -> ${shown(difference.new)}`
  return [`~ ${path}: ${change}`, 'yellow']
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length <= VALUE_LENGTH_MAX ? text : `${text.slice(0, VALUE_LENGTH_MAX - 1)}…`
}
