/** A parsed document: canonical with references resolved, canonical as written, and the map to written paths. */
import type { Path } from '../judgement/problems.ts'
import { canonicalize } from './canonical.ts'
import type { Move } from './moves.ts'
import { type Host, type Resolution, resolveReferences } from './references.ts'

export interface DocumentReading {
  readonly resolution: Resolution
  readonly resolved: unknown
  /** Messages show this tree, because it holds no secret. */
  readonly written: unknown
  readonly moves: readonly Move[]
  /** The path at which the user wrote the value of this canonical path. */
  sourceOf(path: Path): Path
}

/** `file` is where the document stands: its relative paths start there. */
export function readTree(tree: unknown, host: Host, file = ''): DocumentReading {
  const resolution = resolveReferences(tree, host, { file })
  const { tree: resolved, moves, sourceOf } = canonicalize(resolution.tree)
  return { resolution, resolved, written: canonicalize(tree).tree, moves, sourceOf }
}
