/** A page's text for the site: without what only readers of the tree need. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')

/** Between these marks stands what concerns work on the code, such as tables of tests. */
const OF_THE_TREE = /<!-- tree -->\n[\s\S]*?<!-- site -->\n?/g
/** A row about the folder of the tests. */
const ROW_OF_TESTS = /^\| \[[^\]]+\]\(test\/.*\n/gm

export function siteText(file: string): string {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return text.replaceAll(OF_THE_TREE, '').replaceAll(ROW_OF_TESTS, '')
}
