/** The arguments and the result of every check. */

import type { RunMode } from '../../schema/constants.ts'
import type { Section } from '../../schema/index.ts'
import type { Suggestions } from '../judgement/nearest.ts'
import type { Finding, Path } from '../judgement/problems.ts'

/** Facts that a check may need beside the checked section. */
export interface CheckContext {
  /** The canonical document with references unresolved and no defaults: what the user wrote. */
  readonly written: unknown
  /** Turns a canonical path into the path that the user wrote, because messages refer to the file. */
  readonly sourceOf: (path: Path) => Path
  /** Milliseconds since the epoch; absent: skip checks that depend on the time. */
  readonly now?: number | undefined
  /** Compares unknown names with those of this document, within a budget. */
  readonly suggestions: Suggestions
  /** Where the configuration comes from, a file or the operator: some defaults differ. */
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

/** Names the likely upstream, or lists the known ones. */
export function oneOf(names: Iterable<string>): string {
  const shown: string[] = []
  let more = ''
  // Lists only the first names, because every unknown name gets this text.
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
