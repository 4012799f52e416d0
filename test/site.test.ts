/** The documents: every link leads somewhere, and every command that they show is one. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { walkTokens } from 'marked'
import { gw } from './helpers/gw-here.ts'
import { linksOf, type Page, placeOf, readPages, shellLines } from './helpers/site/pages.ts'

const ROOT = join(import.meta.dirname, '..')
const pages = readPages()
const byFile = new Map(pages.map((page) => [page.file, page]))

test('every link leads to a file of the tree, and to a heading that is there', () => {
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter((link) => !leadsSomewhere(link, page))
      .map((link) => `${page.file}: ${link}`),
  )
  assert.deepEqual(broken, [])
})

function leadsSomewhere(link: string, page: Page): boolean {
  const place = placeOf(link, page)
  if (place === undefined) return true
  const { file, anchor } = place
  if (anchor === '') return existsSync(join(ROOT, file))
  return byFile.get(file)?.anchors.includes(anchor) ?? false
}

/** `gw COMMAND` in blocks and in the text, up to what is no word of a command. */
function commandsIn(page: Page): string[] {
  const texts = shellLines(page).map((line) => line.replace(/ #.*/, ''))
  walkTokens([...page.tokens], (token) => {
    if (token.type === 'codespan') texts.push(token.text)
  })
  return texts.flatMap(
    (text) => /^(?:npx |kubectl )?gw ([a-z][^|;&]*)/.exec(text)?.[1]?.trim() ?? [],
  )
}

/** A checkout's `gw` is the product's; the others are things with that name. */
const NO_COMMAND = /^(?:\d|run$)/

test('every command of the tool in every page exists, with its options', async () => {
  const wrong: string[] = []
  const seen = new Set(pages.flatMap(commandsIn))
  assert.ok(seen.size > 30, `${seen.size}`)
  for (const line of seen) {
    if (NO_COMMAND.test(line)) continue
    const words = line.split(/\s+/)
    const last = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
    const command = last < 0 ? words : words.slice(0, last)
    const { code, stdout } = await gw(...command, '--help')
    const options = words
      .filter((word) => /^--?[a-z]/.test(word))
      .map((word) => word.split('=')[0]!)
    const unknown = options.filter((option) => !new RegExp(`${option}(?![a-z-])`).test(stdout))
    const [usage = ''] = stdout.split('\n')
    // Words that are no command are taken for arguments, where the command has some.
    const isKnown =
      usage.startsWith(`Usage: gw ${command.join(' ')}`) || / [<[](?!options)/.test(usage)
    if (code !== 0 || !isKnown || unknown.length > 0) wrong.push(`gw ${line}: ${unknown.join(' ')}`)
  }
  assert.deepEqual(wrong, [])
})

test('every target of make in every page is in the Makefile', () => {
  const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8')
  const targets = pages.flatMap((page) =>
    [...page.tokens].flatMap(({ raw }) => raw.match(/(?<=`make )[a-z][a-z0-9-]+(?=[` ])/g) ?? []),
  )
  assert.ok(targets.length > 10)
  for (const target of new Set(targets))
    assert.match(makefile, new RegExp(`^${target}:`, 'm'), target)
})
