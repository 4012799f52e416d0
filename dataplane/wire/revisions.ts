/** How to ask a runtime for the revision of its model, and when two spellings mean one revision. */
import { textOf } from '../json/values.ts'
import { entryOf } from './window-questions.ts'

export interface RevisionQuestion {
  readonly path: string
  /** Whether the path is below the base URL without its API version. */
  readonly isNative: boolean
  /** undefined if the answer has no revision. */
  read(answer: unknown, model: string): string | undefined
}

const NAMES = ['revision', 'model_sha', 'model_revision', 'sha', 'digest'] as const

/** The question for runtimes without a special one: the list of models. */
export const LISTED_REVISION: readonly RevisionQuestion[] = [
  {
    path: '/models',
    isNative: false,
    read(list, model) {
      const entry = entryOf(list, model)
      return revisionIn(entry) ?? revisionOfPath(entry.root) ?? revisionOfPath(entry.id)
    },
  },
]

/** The first member that names a revision. */
export function revisionIn(entry: Readonly<Record<string, unknown>>): string | undefined {
  return NAMES.map((name) => textOf(entry[name])).find((text) => text !== undefined)
}

/** The revision in the path of a downloaded model (`.../snapshots/<commit>/...`), or after `@` in its name. */
export function revisionOfPath(path: unknown): string | undefined {
  const text = textOf(path) ?? ''
  return (
    /\/snapshots\/([0-9a-f]{7,64})(?:\/|$)/.exec(text)?.[1] ?? /@([\w.-]{1,128})$/.exec(text)?.[1]
  )
}

/** A commit or digest may be shortened to a prefix; a digest may omit its algorithm. */
export function isSameRevision(one: string, other: string): boolean {
  const [a, b] = [plain(one), plain(other)].sort((x, y) => x.length - y.length) as [string, string]
  return a === b || (/^[0-9a-f]{7,}$/.test(a) && b.startsWith(a))
}

function plain(revision: string): string {
  return revision
    .trim()
    .toLowerCase()
    .replace(/^sha256:/, '')
}
