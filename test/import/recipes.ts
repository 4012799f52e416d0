/** The configurations of other gateways that the tests of `gw import` read. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { moved } from '../../cli/moving/import.ts'
import { SOURCE_NAMES, type SourceName } from '../../cli/moving/source-names.ts'

export interface Recipe {
  readonly from: SourceName
  readonly name: string
  readonly path: string
  readonly text: string
}

const FOLDER = join(import.meta.dirname, 'recipes')

export const RECIPES: readonly Recipe[] = SOURCE_NAMES.flatMap((from) =>
  readdirSync(join(FOLDER, from)).map((name) => {
    const path = join(FOLDER, from, name)
    return { from, name, path, text: readFileSync(path, 'utf8') }
  }),
)

export function movedOf({ from, name, text }: Recipe) {
  return moved(from, { name, text })
}

/** The tree as the reader of the source has it: Envoy's is a list of documents. */
export function treeOf({ from, text }: Recipe): unknown {
  const trees = parseAllDocuments(text).map((document): unknown => document.toJS())
  return from === 'envoy-ai-gateway' ? trees : trees[0]
}
