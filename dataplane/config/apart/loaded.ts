/** A loaded configuration, as a process gets it that did not load it itself. */
import type { Configuration } from '../../schema/index.ts'
import { type Move, sourceThrough } from '../document/moves.ts'
import type { ReferenceUse, Unresolved } from '../document/references.ts'
import { type Problem, showPath } from '../judgement/problems.ts'
import type { Delivered } from '../snapshot.ts'

export interface Loaded {
  readonly file: string
  /** Present when no problem is an error. Keys of `api_keys_file` are among its keys. */
  readonly configuration?: Configuration
  readonly problems: readonly Problem[]
  readonly unresolved: readonly Unresolved[]
  /** The written reference of the string at a canonical path, if it was one. */
  referenceAt(path: readonly (string | number)[]): ReferenceUse | undefined
  /** Number of keys in the document itself, which come first. */
  readonly ownKeys: number
  /** The file of further keys, as it has to be opened. */
  readonly keysFile?: string
  /** Files that `${file:}` and `${secret:}` lead to. */
  readonly referredFiles?: readonly string[]
  /** Facts about a configuration that was delivered to a pod. */
  readonly delivered?: Delivered
}

/** A loaded configuration as plain data, so that another process can hand it over. */
export interface LoadedData extends Omit<Loaded, 'referenceAt' | 'delivered'>, Origins {}

/** The way from the canonical form to the references that were written. */
export interface Origins {
  readonly uses: ReadonlyMap<string, ReferenceUse>
  readonly moves: readonly Move[]
}

export function withReferences({ uses, moves, ...data }: LoadedData): Loaded {
  return { ...data, referenceAt: referencesFrom({ uses, moves }) }
}

/** Keeps only these two, so that the document with its positions can be collected. */
export function referencesFrom({ uses, moves }: Origins): Loaded['referenceAt'] {
  return (path) => uses.get(showPath(sourceThrough(moves, path)))
}
