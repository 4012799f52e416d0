/** A text that a toy puts into a file of the tree, before another one that appears once. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Edit {
  readonly path: string
  readonly before: string
  readonly text: string
}

/** Returns the changed files. */
export function plant(tree: string, edits: readonly Edit[]): Set<string> {
  for (const { path, before, text } of edits) {
    const file = join(tree, path)
    const [head, tail, ...more] = readFileSync(file, 'utf8').split(before)
    if (head === undefined || tail === undefined || more.length > 0)
      throw new Error(`${path} must have ${JSON.stringify(before)} once.`)
    writeFileSync(file, `${head}${text}${before}${tail}`)
  }
  return new Set(edits.map(({ path }) => path))
}
