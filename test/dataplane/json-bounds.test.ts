/** Decides without a parser which JSON may be parsed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bounds, isWithinBounds } from '../../dataplane/json/bounds.ts'
import { openai } from '../../dataplane/providers/openai/provider.ts'
import { tgi } from '../../dataplane/providers/tgi/provider.ts'
import { aRequest, chatWith } from '../helpers/providers/a-request.ts'

const PAD = 'x'.repeat(20_000)

test('depth is bounded, and so is the number of values', () => {
  const nested = (depth: number) => `{"pad":"${PAD}","x":${'['.repeat(depth)}${']'.repeat(depth)}}`
  assert.equal(isWithinBounds(nested(63)), true)
  assert.equal(isWithinBounds(nested(64)), false)
  assert.equal(isWithinBounds(`[${'1,'.repeat(1_000_000)}1]`), true)
  assert.equal(isWithinBounds(`[${'1,'.repeat(1_048_576)}1]`), false)
})

test('brackets in strings are not structure', () => {
  for (const text of [
    JSON.stringify({ content: '[],'.repeat(700_000) }),
    JSON.stringify({ content: `${'\\"['.repeat(100_000)}`, tail: `\\` }),
    `{"a":"${PAD}\\\\","b":"${'['.repeat(100)}"}`,
    `{"a":"${PAD} and it does not end ${'['.repeat(100)}`,
  ]) {
    assert.equal(isWithinBounds(text), true)
  }
  assert.equal(isWithinBounds(`{"a":"${PAD}\\\\",${'['.repeat(100)}`), false)
})

/** The same, read in pieces of this length. */
function areWithinBounds(text: string, length: number): boolean {
  const bytes = Buffer.from(text)
  const bounds = new Bounds()
  for (let at = 0; at < bytes.length; at += length) {
    if (!bounds.holds(bytes.subarray(at, at + length))) return false
  }
  return true
}

test('bytes in pieces have the same bounds', () => {
  for (const tail of ['', '"', '\\"', '\\\\"', '"a\\"', '\\\\\\"', '","b":"\\\\","c":"'])
    for (const depth of [62, 70]) {
      const text = `{"pad":"${PAD}${tail},"x":${'['.repeat(depth)}"${']'.repeat(depth)}`
      for (const length of [1, 2, 3, 7, 20_008, 20_009, 20_010, 20_011, 30_000]) {
        assert.equal(areWithinBounds(text, length), isWithinBounds(text), `${tail} by ${length}`)
      }
    }
  assert.equal(areWithinBounds(`[${'1,'.repeat(1_048_576)}1]`, 65_536), false)
  assert.equal(areWithinBounds(`[${'1,'.repeat(1_000_000)}1]`, 65_536), true)
})

const TREES: Readonly<Record<string, string>> = {
  'a list of ten million lists': `[${'[],'.repeat(10_000_000)}[]]`,
  'sixteen million brackets': '['.repeat(16_000_000),
  'the same after a good beginning': `{"choices":[{"index":0,"message":{"content":"a"}}],"usage":{},"x":[${'[],'.repeat(10_000_000)}[]]}`,
}

for (const [name, text] of Object.entries(TREES)) {
  test(`${name} are refused as an answer without being parsed`, (t) => {
    const request = aRequest()
    const parse = t.mock.method(JSON, 'parse')
    for (const provider of [openai, tgi]) {
      const answer = chatWith(provider).decode(Buffer.from(text), request)
      assert.equal(answer.kind === 'failure' && answer.failure.class, 'malformed')
    }
    assert.equal(parse.mock.callCount(), 0)
  })
}
