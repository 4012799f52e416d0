/** Bodies in pieces: complete at the end, with little more memory than their bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { Gathered } from '../../dataplane/base/gathered.ts'
import { cases } from '../helpers/cases.ts'

const MEBIBYTE = 1_048_576
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function held(): number {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

for (const [how, expected] of [
  ['of a length that is known', 4 * MEBIBYTE],
  ['of an unknown length', undefined],
] as const) {
  test(`4 MiB in pieces of one byte, ${how}, take no more than twice their bytes`, () => {
    const before = held()
    const gathered = new Gathered({ expected })
    let most = 0
    for (let sent = 0; sent < 4 * MEBIBYTE; sent++) {
      gathered.add(Buffer.from([sent]))
      if ((sent + 1) % MEBIBYTE === 0) most = Math.max(most, (held() - before) / (sent + 1))
    }
    const whole = gathered.take()
    most = Math.max(most, (held() - before) / whole.length)
    assert.equal(whole.length, 4 * MEBIBYTE)
    assert.ok(most < 2, `${most} bytes are held for each byte`)
  })
}

test('an announced length takes no memory before its bytes arrive', () => {
  const before = held()
  const waiting = Array.from({ length: 100 }, () => {
    const gathered = new Gathered({ expected: 8 * MEBIBYTE })
    gathered.add(Buffer.from('{'))
    return gathered
  })
  assert.ok(held() - before < MEBIBYTE)
  assert.equal(waiting.length, 100)
})

test('the gathered bytes are the sent bytes, for every cut and every announced length', () => {
  const sizes = fc.array(fc.oneof(fc.nat(3), fc.nat(5000), fc.nat(200_000)), { maxLength: 12 })
  fc.assert(
    fc.property(
      sizes,
      fc.constantFrom('true', 'none', 'less', 'more'),
      fc.boolean(),
      (lengths, lie, ownsPieces) => {
        const pieces = lengths.map((length, at) => Buffer.alloc(length, at + 1))
        const all = Buffer.concat(pieces)
        const lies = {
          true: all.length,
          none: undefined,
          less: all.length >> 1,
          more: all.length * 2,
        }
        const gathered = new Gathered({ expected: lies[lie], ownsPieces })
        for (const piece of pieces) gathered.add(piece)
        assert.equal(gathered.length, all.length)
        assert.ok(gathered.take().equals(all))
        assert.equal(gathered.length, 0)
      },
    ),
    { numRuns: cases(100, 300) },
  )
})
