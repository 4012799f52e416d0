/** The way back from a canonical field to the place where the user wrote it. */
import type { Path } from '../judgement/problems.ts'
import { startsWith } from './tree.ts'

/** A canonical path, and the written path of its whole content. */
export interface Move {
  readonly canonical: Path
  readonly written: Path
  /** Whether the canonical value is a list whose entries keep their written order. */
  readonly keepsRest: boolean
}

/** The path that the user wrote for a canonical path. */
export function sourceThrough(moves: readonly Move[], path: Path): Path {
  const found = moves.find((candidate) => startsWith(path, candidate.canonical))
  if (found === undefined) return path
  return found.keepsRest ? [...found.written, ...path.slice(found.canonical.length)] : found.written
}
