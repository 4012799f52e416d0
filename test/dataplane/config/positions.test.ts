/** The reported position of a problem. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDocument } from '../../../dataplane/config/document/document.ts'
import { COMPARISONS_MAX, Suggestions } from '../../../dataplane/config/judgement/nearest.ts'
import { type Path, renderProblem, showPath } from '../../../dataplane/config/judgement/problems.ts'
import { aDocument, load } from './documents.ts'

const TEXT = `first: 1
list:
  - one
  - {name: two, "odd name": 2}
base: &base
  inner: 5
derived:
  <<: *base
  own: 6
alias: *base
`

const PLACES: [Path, boolean, number, number][] = [
  [[], false, 1, 1],
  [['first'], false, 1, 8],
  [['first'], true, 1, 1],
  [['list'], false, 2, 1],
  [['list', 1], false, 4, 5],
  [['list', 1, 'name'], false, 4, 12],
  [['list', 1, 'odd name'], false, 4, 29],
  [['list', 1, 'missing', 'deep'], false, 4, 5],
  [['list', 7], false, 2, 1],
  [['derived', 'inner'], false, 6, 10],
  [['derived', 'own'], false, 9, 8],
  [['alias', 'inner'], false, 6, 10],
]

for (const [path, atKey, line, column] of PLACES) {
  test(`${showPath(path) || 'the document'} stands at ${line}:${column}`, () => {
    const { document } = parseDocument(TEXT, 'a.yaml')
    assert.deepEqual(document?.positionOf(path, atKey), { line, column })
  })
}

test('merges and aliases are read, and the field of the entry itself wins', () => {
  const { document } = parseDocument('a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\n', 'a.yaml')
  assert.deepEqual(document?.tree, { a: { x: 1, y: 2 }, b: { x: 1, y: 3 }, c: { x: 1, y: 2 } })
})

test('JSON is read, and names that look like numbers stay as written', () => {
  const { document } = parseDocument('{"a": [1, true, null], "4.10": "x"}', 'a.json')
  assert.deepEqual(document?.tree, { a: [1, true, null], '4.10': 'x' })
})

test('all problems come at once, in the order of the file', () => {
  const { problems } = load(
    aDocument(`  gateway: {keepalive_seconds: 5, listn_port: 1}
  upstreams:
    - {name: a, provider: vllm, model: m}
    - {name: b, provider: vllmm, model: m, api_key: literal}
  routes:
    - {name: r, strategy: sinlge, upstreams: [aa]}
`),
  )
  const errors = problems.filter(({ severity }) => severity === 'error')
  assert.deepEqual(
    errors.map(({ line, path }) => `${line} ${path}`),
    [
      '4 gw.gateway.listn_port',
      '6 gw.upstreams[0].endpoint',
      '7 gw.upstreams[1].provider',
      '7 gw.upstreams[1].api_key',
      '9 gw.routes[0].strategy',
      '9 gw.routes[0].upstreams[0]',
    ],
  )
  const lines = problems.map(({ line }) => line)
  assert.deepEqual(
    lines,
    lines.toSorted((left, right) => left - right),
  )
})

test('a problem is printed so that an editor can jump to it and a person can fix it', () => {
  const { problems } = load(
    aDocument('  routes:\n    - {name: r, strategy: sinlge, upstreams: [a, b]}'),
  )
  const [problem] = problems
  assert.ok(problem)
  assert.equal(
    renderProblem(problem),
    'gw.yaml:5:27: error: gw.routes[0].strategy: unknown strategy "sinlge"; did you mean "single"?\n' +
      '    fix: Use one of: "single", "round_robin", "least_queue", "weighted", "primary_with_fallback", "semantic", "fastest", "cheapest".',
  )
})

test('the nearest name is near', () => {
  const suggestions = new Suggestions()
  assert.equal(suggestions.nearest('sinlge', ['double', 'single']), 'single')
  assert.equal(suggestions.nearest('sitting', ['kitten']), undefined)
  assert.equal(suggestions.nearest('Chat', ['chat', 'cat']), 'chat')
  assert.equal(suggestions.nearest('embeddings', ['chat', 'cat']), undefined)
})

test('names of more than 40 characters are not compared', () => {
  const suggestions = new Suggestions()
  assert.equal(suggestions.nearest('a'.repeat(41), ['a'.repeat(40)]), undefined)
  assert.equal(suggestions.nearest('a'.repeat(40), ['a'.repeat(41)]), undefined)
  assert.equal(suggestions.comparisons, 0)
  assert.equal(suggestions.nearest('a'.repeat(40), [`${'a'.repeat(39)}b`]), `${'a'.repeat(39)}b`)
})

test('a document costs at most a thousand comparisons, however many names it has', () => {
  const suggestions = new Suggestions()
  const known = Array.from({ length: 3000 }, (_, index) => `upstream-${index}`)
  for (const name of known) suggestions.didYouMean(`${name.slice(0, -1)}x`, known)
  assert.equal(suggestions.comparisons, COMPARISONS_MAX)
})
