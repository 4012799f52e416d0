/** The documents: every link leads somewhere, and every command that they show is one. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { walkTokens } from 'marked'
import { GROUPS } from '../cli/commands/index.ts'
import { makeProgram } from '../cli/program.ts'
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
    (text) => /^(?:npx |kubectl )?gw ([a-z][^|;&>]*)/.exec(text)?.[1]?.trim() ?? [],
  )
}

/** A checkout's `gw` is the product's; the others are things with that name. */
const NO_COMMAND = /^(?:\d|run$)/

const program = makeProgram('gw', GROUPS)

/** The first word that the tool would refuse: a command, an option, or an argument too many. */
function refusedOf(line: string): string | undefined {
  const words = line.match(/'[^']*'|"[^"]*"|\S+/g) ?? []
  const args: string[] = []
  let command = program
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (/^--?[a-z]/i.test(word)) {
      const [flag = ''] = word.split('=')
      const option = [...command.options, ...program.options].find(
        ({ long, short }) => long === flag || short === flag,
      )
      if (option === undefined && !['--help', '-h'].includes(flag)) return flag
      const takesNext = option?.required || (option?.optional && !words[at + 1]?.startsWith('-'))
      if (takesNext && !word.includes('=')) at++
      continue
    }
    const below =
      args.length === 0 ? command.commands.find((one) => one.name() === word) : undefined
    if (below === undefined) args.push(word)
    else command = below
  }
  const most = command.registeredArguments.some(({ variadic }) => variadic)
    ? Number.POSITIVE_INFINITY
    : command.registeredArguments.length
  return args[most]
}

test('every command of the tool in every page exists, with its options and arguments', () => {
  const seen = new Set(pages.flatMap(commandsIn))
  assert.ok(seen.size > 30, `${seen.size}`)
  const wrong = [...seen].flatMap((line) => {
    const refused = NO_COMMAND.test(line) ? undefined : refusedOf(line)
    return refused === undefined ? [] : [`gw ${line}: ${refused}`]
  })
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
