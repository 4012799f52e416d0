/** What every check takes and returns. */
import type { Finding, Path } from '../problems.ts'
import type { Section } from '../schema.ts'

/** What a check may need beside the checked section. */
export interface CheckContext {
  /** The canonical document with references unresolved and no defaults: what the user wrote. */
  readonly written: unknown
  /** Milliseconds since the epoch; absent: nothing is judged by time. */
  readonly now?: number | undefined
}

export type Check = (section: Section, context: CheckContext) => Finding[]

/** A path below `gw`. */
export function at(...parts: Path): Path {
  return ['gw', ...parts]
}

/** A name in quotes, as messages show it. */
export function quoted(name: string): string {
  return JSON.stringify(name)
}

export function listed(names: Iterable<string>): string {
  return [...names].map(quoted).join(', ')
}

/** The upstream that is meant, or how to find the names. */
export function oneOf(names: Iterable<string>): string {
  const known = [...names]
  const shown = known.slice(0, 20)
  if (shown.length === 0) return 'There is none yet.'
  return `Use one of: ${listed(shown)}${known.length > shown.length ? ', ...' : ''}.`
}
