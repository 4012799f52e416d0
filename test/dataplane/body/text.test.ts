/** A body that is read in parts is the same text as one that is read whole. */
import assert from 'node:assert/strict'
import { isAscii, isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { isSparseInParts, isUtf8InParts } from '../../../dataplane/body/text.ts'

const PART = 262_144
const PIECES = ['é', '漢', '🙂', '\\u0041', '\\n', '\\\\u', 'u', '\x7f'].map((text) =>
  Buffer.from(text),
)
const BROKEN = ['c3', 'ff', '80', 'e6bc', 'f09f99', '8080808080', 'eda080', 'c0af'].map((hex) =>
  Buffer.from(hex, 'hex'),
)

for (const piece of [...PIECES, ...BROKEN]) {
  test(`${piece.toString('latin1')} anywhere around the end of a part`, () => {
    for (let at = PART - 9; at < PART + 3; at++) {
      const bytes = Buffer.concat([Buffer.alloc(at, 'x'), piece, Buffer.alloc(PART, 'y')])
      assert.equal(atOnce(isUtf8InParts(bytes)), isUtf8(bytes), `at ${at}`)
      const isSparse = isAscii(bytes) && !bytes.includes('\\u')
      assert.equal(atOnce(isSparseInParts(bytes)), isSparse, `at ${at}`)
    }
  })
}

test('nothing is a text of ASCII', () => {
  assert.equal(atOnce(isUtf8InParts(Buffer.alloc(0))), true)
  assert.equal(atOnce(isSparseInParts(Buffer.alloc(0))), true)
})
