/** Memory is freed only if no other buffer shares it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveBack } from '../../dataplane/base/spent-bytes.ts'

test('bytes with their own memory are freed at once', () => {
  const bytes = Buffer.allocUnsafeSlow(65_536)
  giveBack(bytes)
  assert.equal(bytes.length, 0)
})

test('bytes that share their memory stay', () => {
  const whole = Buffer.alloc(65_536, 'x')
  giveBack(whole.subarray(1))
  const pooled = Buffer.from('from the pool')
  giveBack(pooled)
  assert.equal(whole.toString(), 'x'.repeat(65_536))
  assert.equal(pooled.toString(), 'from the pool')
})
