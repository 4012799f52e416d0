/** The files of the tree that the rules read, and what they import. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')
const SOURCES = ['dataplane', 'crds', 'operator', 'cli', 'charts', 'test']

export interface Source {
  readonly path: string
  readonly text: string
}

export const sources: readonly Source[] = SOURCES.flatMap(walk)
export const code = sources.filter(({ path }) => path.endsWith('.ts'))
export const product = code.filter(({ path }) => !path.startsWith('test/'))

function walk(folder: string): Source[] {
  const start = join(ROOT, folder)
  if (!statSync(start, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(start, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(join(ROOT, path)).isFile() && !path.includes('/build/'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

export function importsOf(path: string, text: string): string[] {
  const found = text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)
  return [...found].map(([, target = '']) => join(path, '..', target))
}
