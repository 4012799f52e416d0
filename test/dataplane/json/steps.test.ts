/** Readers of JSON that work in steps: no step is long, in any text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { requireDistinct } from '../../../dataplane/json/distinct.ts'
import { MembersScan } from '../../../dataplane/json/members.ts'
import { closingQuoteIn } from '../../../dataplane/json/tokens.ts'
import { watchedBytes } from '../../helpers/watched-bytes.ts'

const LENGTH = 400_000
/** In one step: a step ends after 65,536 bytes, and reads a byte at most three times. */
const LOOKS_MAX = 3 * 65_536

const TEXTS: Readonly<Record<string, string>> = {
  'JSON in a string': '\\"a\\":'.repeat(LENGTH / 6),
  'JSON in a string in a string': '\\\\\\"'.repeat(LENGTH / 4),
  backslashes: '\\\\'.repeat(LENGTH / 2),
  'quotes that are far from each other': `${'a'.repeat(38)}\\"`.repeat(LENGTH / 40),
}

for (const [what, text] of Object.entries(TEXTS)) {
  const json = Buffer.from(`{"messages":[{"content":"${text}"}],"b":1}`)

  test(`the search for repeated names works in short steps: ${what}`, () => {
    const { bytes, taken } = watchedBytes(json)
    const steps = requireDistinct(bytes, String)
    let longest = 0
    for (let isOver = false; !isOver; ) {
      isOver = steps.next().done === true
      longest = Math.max(longest, taken())
    }
    assert.ok(longest <= LOOKS_MAX, `${longest} looks in one step`)
  })

  test(`the search for members stops at its limit: ${what}`, () => {
    const { bytes, taken } = watchedBytes(json)
    const scan = new MembersScan(bytes)
    let longest = 0
    for (let until = 65_536; !scan.run(until); until += 65_536) longest = Math.max(longest, taken())
    assert.ok(longest <= LOOKS_MAX, `${longest} looks in one step`)
    assert.deepEqual([...scan.spans.keys()], ['messages', 'b'])
  })
}

test('the end of a string is found regardless of its escapes, at once or step by step', () => {
  const inside = fc.array(fc.constantFrom('a', '\\\\', '\\"', '\\u0022', 'x'.repeat(33), 'é'))
  fc.assert(
    fc.property(inside, fc.integer({ min: 1, max: 40 }), (parts, step) => {
      const text = Buffer.from(parts.join(''))
      const bytes = Buffer.concat([text, Buffer.from('",\\"')])
      assert.equal(closingQuoteIn(bytes, 0), text.length)
      let found = closingQuoteIn(bytes, 0, step)
      while (found < 0) found = closingQuoteIn(bytes, ~found, ~found + step)
      assert.equal(found, text.length)
      assert.equal(~closingQuoteIn(text, 0), text.length)
    }),
  )
})
