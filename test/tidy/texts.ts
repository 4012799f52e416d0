/** Texts for people: plain English, the words of the glossary. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clumsyPhrase } from './phrases.ts'
import { product, ROOT, sources } from './sources.ts'

const ROOT_PAGES = ['README', 'CONTRIBUTING', 'SECURITY', 'CHANGELOG'].map((name) => {
  const path = `${name}.md`
  return { path, text: readFileSync(join(ROOT, path), 'utf8') }
})

/** These two quote the phrases. */
const LISTS = ['test/tidy/phrases.ts', 'test/tidy/texts.ts']

test('texts are plain English', () => {
  const isText = /\.(ts|js|md|yaml|tpl|txt)$/
  const all = [...sources, ...ROOT_PAGES].flatMap(({ path, text }) => {
    if (!isText.test(path) || LISTS.includes(path)) return []
    return text.split('\n').flatMap((line, index) => {
      const found = clumsyPhrase(line)
      return found === undefined ? [] : [`${path}:${index + 1}: ${found}`]
    })
  })
  assert.deepEqual(all, [])
})

test('every type of the glossary exists', () => {
  const glossary = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').split('## Glossary')[1] ?? ''
  const names = [...glossary.matchAll(/\| `(\w+)` \|$/gm)].map(([, name = '']) => name)
  assert.ok(names.length > 20, 'CONTRIBUTING.md has a glossary with a type in its last column')
  for (const name of names) {
    const declared = new RegExp(`^export (?:interface|type|class) ${name}\\b`, 'm')
    const exists = product.some(({ text }) => declared.test(text))
    assert.ok(exists, `no file declares ${name}; give the word of the glossary its new type`)
  }
})

test('a phrase that makes a reader stop is found, and plain sentences are not', () => {
  const clumsy = [
    '/** Who has no key leaves it out. */',
    '// It is said. What stands there is taken.',
    "fix: 'Of these one counts.',",
    ' * so that nobody asks',
    '- Whose turn it is waits.',
  ]
  const plain = [
    '/** What may it do? */',
    'what stands there',
    'The clients of a pod',
    "case 'told':",
    'const Of = 1',
  ]
  for (const line of clumsy) assert.notEqual(clumsyPhrase(line), undefined, line)
  for (const line of plain) assert.equal(clumsyPhrase(line), undefined, line)
})
