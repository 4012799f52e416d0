/** Names of types tell them apart: no name is declared in more than three files of the product. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { product } from './sources.ts'

const FILES_MAX = 3
const DECLARED = /^(?:export )?(?:declare )?(?:interface|type) (\w+)/gm

interface File {
  readonly path: string
  readonly text: string
}

function crowded(files: readonly File[]): string[] {
  const places = files.flatMap(({ path, text }) =>
    [...new Set([...text.matchAll(DECLARED)].map(([, name = '']) => name))].map((name) => ({
      name,
      path,
    })),
  )
  return [...Map.groupBy(places, ({ name }) => name)]
    .filter(([, all]) => all.length > FILES_MAX)
    .map(([name, all]) => `${name}: ${all.map(({ path }) => path).join(', ')}`)
}

test('no type name is declared in more than three files', () => {
  const advice = 'name each by the noun of its field, or import one declaration'
  assert.deepEqual(crowded(product), [], advice)
})

test('a name that a fourth file declares is found', () => {
  const files = ['a', 'b', 'c', 'd'].map((path) => ({ path, text: 'export type Asked = string\n' }))
  assert.deepEqual(crowded(files.slice(0, 3)), [])
  assert.deepEqual(crowded(files), ['Asked: a, b, c, d'])
  assert.deepEqual(crowded([...files.slice(1), { path: 'e', text: 'interface Asked {}\n' }]), [
    'Asked: b, c, d, e',
  ])
})
