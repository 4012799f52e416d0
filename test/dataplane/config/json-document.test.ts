/** JSON documents have a separate reader, which must report exactly what the YAML reader reports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDocument } from '../../../dataplane/config/document/document.ts'
import { readJson } from '../../../dataplane/config/document/json-document.ts'
import type { Path } from '../../../dataplane/config/judgement/problems.ts'

/** A comment is not JSON, so the same text goes to the other reader. */
function asYaml(text: string): string {
  return `${text}\n# not JSON\n`
}

const names = fc.constantFrom('a', 'b', 'name', 'odd name', '4.10', '2', '<<', 'é', '', 'x"y')
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, -1, 2.5, 1e21, '', 'text', 'a "quoted" \\ one', '{', ','),
    fc.string({ unit: 'grapheme-ascii', maxLength: 8 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))
const documents = fc.dictionary(names, values, { maxKeys: 4 })

function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  yield path
  yield [...path, 'missing']
  yield [...path, 9]
  if (typeof value !== 'object' || value === null) return
  for (const [key, entry] of Object.entries(value)) {
    yield* pathsOf(entry, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

test('a JSON document has the same values and positions as YAML', () => {
  const property = fc.property(documents, fc.constantFrom(0, 1, 2, '\t'), (value, indent) => {
    const text = JSON.stringify(value, null, indent)
    // The other reader accepts no tabs for indentation.
    const spaced = typeof indent === 'string' ? text.replaceAll('\t', ' ') : text
    const json = parseDocument(text, 'a.json').document
    const yaml = parseDocument(asYaml(spaced), 'a.yaml').document
    assert.deepEqual(json?.tree, yaml?.tree)
    for (const path of pathsOf(value)) {
      for (const atKey of [false, true]) {
        const place = JSON.stringify([path, atKey])
        assert.deepEqual(json?.positionOf(path, atKey), yaml?.positionOf(path, atKey), place)
      }
    }
  })
  fc.assert(property, { numRuns: 300 })
})

for (const [what, text, says] of [
  ['a name twice', '{"gw": {"a": 1,\n "a": 2}}', /written twice/],
  ['a name that every object has', '{"gw": {"__proto__": 1}}', /not allowed/],
  ['no end', '{"gw": {"a": [1, 2}', /not valid YAML/],
  ['too deep a nest', `{"a": ${'['.repeat(70)}${']'.repeat(70)}}`, /nested too deeply/],
  ['a list for a document', '[1]', /must be a map/],
] as const) {
  test(`JSON with ${what} is refused as it is in YAML`, () => {
    const { problems } = parseDocument(text, 'a.json')
    assert.match(problems[0]?.message ?? '', says)
    assert.deepEqual(problems[0], parseDocument(asYaml(text), 'a.json').problems[0])
  })
}

test('JSON is not read as YAML, which takes fifty times as long', () => {
  assert.deepEqual(readJson('{"a": [1]}')?.value, { a: [1] })
  assert.equal(readJson('a: [1]'), undefined)
})
