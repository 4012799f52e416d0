/** JSON written in steps: the bytes of JSON.stringify, without a long step. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { type Change, changedTree, editedBody } from '../../../dataplane/json/edit.ts'
import { scanMembers } from '../../../dataplane/json/members.ts'
import { later, Unwritten } from '../../../dataplane/json/unwritten.ts'
import { joining, writing } from '../../../dataplane/json/writing.ts'

const LONG = 200_000
/** The length of a request whose JSON is written in steps. */
const LARGE = { length: LONG }

function* whole(value: object): Generator<undefined, Buffer> {
  return yield* joining(yield* writing(value))
}

function textOf(body: Buffer | string | Unwritten): string {
  return String(body instanceof Unwritten ? atOnce(body.whole()) : body)
}

test('a value is written like by JSON.stringify', () => {
  const value = fc.dictionary(
    fc.string({ unit: 'binary' }),
    fc.option(fc.jsonValue(), { nil: undefined }),
  )
  fc.assert(
    fc.property(value, (one) => {
      const value = { ...one, list: [undefined, one], empty: [[], {}] }
      assert.equal(String(atOnce(whole(value))), JSON.stringify(value))
    }),
  )
})

test('a long text is written like by JSON.stringify, wherever its parts end', () => {
  for (const unit of ['a', '"\\', '\u{1f600}', '\ud83d', '\ude00', '漢'])
    for (const before of ['', 'x']) {
      const value = { a: before + unit.repeat(LONG), b: [unit] }
      assert.equal(String(atOnce(whole(value))), JSON.stringify(value))
    }
})

const DENSE: Readonly<Record<string, object>> = {
  'JSON in a text': { content: [{ type: 'text', text: '"a\\'.repeat(300_000) }] },
  'control characters': { text: '\u0001'.repeat(1_000_000) },
  'empty lists': Array.from({ length: 400_000 }, () => []),
  numbers: { below: { numbers: Array.from({ length: 200_000 }, (_, at) => at * 1e-9) } },
  'small objects': Array.from({ length: 60_000 }, (_, at) => ({ role: 'user', content: `${at}` })),
  'members of one object': Object.fromEntries(
    Array.from({ length: 60_000 }, (_, at) => [`name ${at}`, { a: [at] }]),
  ),
  'lists in lists': Array.from({ length: 60 }).reduce<object>(
    (below) => [below, 'x'.repeat(20_000)],
    [],
  ),
}

for (const [what, value] of Object.entries(DENSE)) {
  test(`megabytes are written in short steps: ${what}`, (t) => {
    const expected = JSON.stringify(value)
    const stringify = t.mock.method(JSON, 'stringify')
    const steps = writing(value)
    let longest = 0
    for (;;) {
      stringify.mock.resetCalls()
      const next = steps.next()
      const written = stringify.mock.calls.map(({ result }) => String(result).length)
      longest = Math.max(
        longest,
        written.reduce((sum, one) => sum + one, 0),
      )
      if (next.done !== true) continue
      assert.equal(String(Buffer.concat(next.value)), expected)
      break
    }
    // A control character takes six.
    assert.ok(longest <= 131_072 + 6 * 65_536, `${longest} characters in one step`)
  })
}

test('a long body is changed without a copy, and its long values are written later', () => {
  const bytes = Buffer.from(JSON.stringify({ a: 1, text: 'x'.repeat(LONG), model: 'm', b: 2 }))
  const changed = editedBody(
    bytes,
    scanMembers(bytes),
    new Map<string, Change>([
      ['a', undefined],
      ['model', '"other"'],
      ['c', later([1])],
    ]),
  )
  assert.ok(changed instanceof Unwritten)
  assert.deepEqual(JSON.parse(textOf(changed)), {
    text: 'x'.repeat(LONG),
    model: 'other',
    b: 2,
    c: [1],
  })
  assert.ok(atOnce(changed.steps()).some((page) => page.buffer === bytes.buffer))
})

test('a tree is written with its changes, at once or in steps', () => {
  const changes = new Map([
    ['gone', undefined],
    ['model', '"other"'],
    ['added', '{}'],
  ])
  const tree = { model: 'm', gone: 1, 'not there': undefined, text: 'x' }
  const expected = { text: 'x', model: 'other', added: {} }
  assert.deepEqual(JSON.parse(textOf(changedTree(tree, changes, { length: 10 }))), expected)
  const long = changedTree(tree, changes, LARGE)
  assert.ok(long instanceof Unwritten)
  assert.deepEqual(JSON.parse(textOf(long)), expected)
  assert.equal(textOf(changedTree({ a: undefined }, new Map(), LARGE)), '{}')
})
