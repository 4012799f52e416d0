/** JSON that is written in steps: the bytes that JSON.stringify makes, and no long step. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { writing } from '../../../dataplane/json/writing.ts'

const LONG = 200_000

test('a value is written as JSON.stringify writes it', () => {
  const value = fc.dictionary(
    fc.string({ unit: 'binary' }),
    fc.option(fc.jsonValue(), { nil: undefined }),
  )
  fc.assert(
    fc.property(value, (one) => {
      const value = { ...one, list: [undefined, one], empty: [[], {}] }
      assert.equal(String(atOnce(writing(value))), JSON.stringify(value))
    }),
  )
})

test('a long text is written as JSON.stringify writes it, wherever its parts end', () => {
  for (const unit of ['a', '"\\', '\u{1f600}', '\ud83d', '\ude00', '漢'])
    for (const before of ['', 'x']) {
      const value = { a: before + unit.repeat(LONG), b: [unit] }
      assert.equal(String(atOnce(writing(value))), JSON.stringify(value))
    }
})

for (const [what, unit] of Object.entries({
  'JSON in a text': '"a\\',
  'control characters': '\u0001',
})) {
  test(`megabytes are written in short steps: ${what}`, (t) => {
    const stringify = t.mock.method(JSON, 'stringify')
    const steps = writing({
      content: [{ type: 'text', text: unit.repeat(1_000_000 / unit.length) }],
    })
    let longest = 0
    for (let isOver = false; !isOver; ) {
      stringify.mock.resetCalls()
      isOver = steps.next().done === true
      const written = stringify.mock.calls.map(({ arguments: [one] }) => String(one).length)
      longest = Math.max(
        longest,
        written.reduce((sum, one) => sum + one, 0),
      )
    }
    assert.ok(longest <= 131_072 + 1000, `${longest} characters in one step`)
  })
}
