/** A text is counted in slices: together they are the text, none is long, and words stay whole. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { slicesOf } from '../../../dataplane/tokens/exact/slices.ts'

const LENGTH_MAX = 512

test('the slices of any text are the text, and none is longer than its bound', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 3000 }),
    fc
      .array(fc.constantFrom(' ', '\n', 'a', 'word ', '漢', '🦜'), { maxLength: 2000 })
      .map((all) => all.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const slices = [...slicesOf(text)]
      assert.equal(slices.join(''), text)
      for (const slice of slices) {
        assert.ok(slice.length <= LENGTH_MAX)
        assert.doesNotMatch(slice, /^[\udc00-\udfff]/, 'half a character')
      }
    }),
  )
})

test('a text of words is cut before a space', () => {
  const slices = [...slicesOf('some words that follow each other '.repeat(100))]
  assert.ok(slices.length > 3)
  for (const slice of slices.slice(1)) assert.match(slice, /^ \S/)
})
