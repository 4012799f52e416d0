/** Loading any document ends with problems and never with an exception. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse, stringify } from 'yaml'
import { listBelow, valueBelow } from '../../../dataplane/json/values.ts'
import { cases } from '../../helpers/cases.ts'
import { aDocument, hashOf, load } from './documents.ts'

const SPECIFIED: unknown = parse(readFileSync(new URL('./specified.yaml', import.meta.url), 'utf8'))

type Spot = (string | number)[]

function spotsOf(value: unknown, path: Spot = []): Spot[] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Object.entries(value).flatMap(([key, entry]) =>
    spotsOf(entry, [...path, Array.isArray(value) ? Number(key) : key]),
  )
  return [path, ...below]
}

const SPOTS = spotsOf(SPECIFIED).filter((path) => path.length > 0)

test('any value at any place is checked, and reported with a line of the file', () => {
  const strange = fc.oneof(
    fc.constantFrom(
      null,
      '',
      '${',
      '${env:X}',
      [],
      {},
      [[]],
      [null],
      -1,
      1e300,
      true,
      '*',
      'http://[',
    ),
    fc.jsonValue({ maxDepth: 2 }),
  )
  fc.assert(
    fc.property(fc.constantFrom(...SPOTS), strange, (path, value) => {
      const tree = structuredClone(SPECIFIED)
      const parent = valueBelow(tree, ...path.slice(0, -1))
      assert.ok(typeof parent === 'object' && parent !== null)
      Object.assign(parent, { [path.at(-1) ?? '']: value })
      const text = stringify(tree)
      const lines = text.split('\n').length
      for (const { line, column, message, fix } of load(text, {}, 'validate').problems) {
        assert.ok(line >= 1 && line <= lines && column >= 1)
        assert.ok(message !== '' && fix !== '')
      }
    }),
    { numRuns: cases(100, 400) },
  )
})

test('names that every object of the language has are refused like others', () => {
  for (const name of ['valueOf', 'constructor', 'toString', '__proto__']) {
    const { problems } = load(aDocument(`  ${name}: 0`), {}, 'validate')
    assert.ok(
      problems.some(({ line, message }) => line === 4 && message.includes(`"${name}"`)),
      JSON.stringify(problems),
    )
  }
})

test('any text is judged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      assert.ok(load(text).problems.length > 0)
    }),
    { numRuns: 300 },
  )
})

test('ten thousand keys load within seconds', () => {
  const keys = Array.from({ length: 10_000 }, (_, index) => {
    const id = `k${index}`
    return `    - {id: ${id}, tenant: t${index % 50}, hash: "${hashOf(id)}", routes: [r]}\n`
  })
  const started = performance.now()
  const { configuration, problems } = load(aDocument(`  api_keys:\n${keys.join('')}`))
  assert.deepEqual(problems, [])
  assert.equal(listBelow(configuration, 'gw', 'api_keys').length, 10_000)
  assert.ok(performance.now() - started < 60_000)
})
