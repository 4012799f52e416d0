/** The arguments and the result of every check. */

import type { Section } from '../../schema/index.ts'
import type { RunMode } from '../../schema/listener.ts'
import type { Suggestions } from '../judgement/nearest.ts'
import type { Finding, Path } from '../judgement/problems.ts'

/** Facts that a check may need beside the checked section. */
export interface CheckContext {
  /** The canonical document with references unresolved and no defaults: what the user wrote. */
  readonly written: unknown
  /** The path under which the user wrote a canonical one: messages name places of the file. */
  readonly sourceOf: (path: Path) => Path
  /** Milliseconds since the epoch; absent: nothing is judged by time. */
  readonly now?: number | undefined
  /** Compares unknown names with those of this document, within a budget. */
  readonly suggestions: Suggestions
  /** The reader of the configuration: some defaults differ. */
  readonly place: RunMode
  /** Whether a tenant has keys that are not in the document, as in a cluster; absent: there are none. */
  readonly hasOtherKeys?: ((tenant: string) => boolean) | undefined
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

const NAMED_MAX = 20

/** The upstream that is meant, or how to find the names. */
export function oneOf(names: Iterable<string>): string {
  const shown: string[] = []
  let more = ''
  // Only the first ones are looked at: this is said of every name that is unknown.
  for (const name of names) {
    if (shown.length === NAMED_MAX) {
      more = ', ...'
      break
    }
    shown.push(name)
  }
  if (shown.length === 0) return 'There are none yet.'
  return `Use one of: ${listed(shown)}${more}.`
}
