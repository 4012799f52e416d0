import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { isKeyPart, makeKey, prefixOf, RANDOM_BYTES } from '../../operator/keys/key-text.ts'

const parts = { environment: 'live', id: 'team-a' }
const HEAD = 'gw_live_team-a_'
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const bytes = fc.uint8Array({ minLength: RANDOM_BYTES, maxLength: RANDOM_BYTES })

function decode(text: string): bigint {
  return [...text].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n)
}

test('a key is its head, 43 characters of secret and 6 of checksum', () => {
  fc.assert(
    fc.property(bytes, (random) => {
      assert.match(makeKey(parts, random), /^gw_live_team-a_[0-9A-Za-z]{49}$/)
    }),
  )
})

test('the secret holds all 256 random bits', () => {
  fc.assert(
    fc.property(bytes, (random) => {
      const secret = makeKey(parts, random).slice(HEAD.length, -6)
      const hex = decode(secret).toString(16).padStart(64, '0')
      assert.equal(hex, Buffer.from(random).toString('hex'))
    }),
  )
})

test('the checksum is the CRC-32 of everything before it', () => {
  fc.assert(
    fc.property(bytes, (random) => {
      const key = makeKey(parts, random)
      assert.equal(decode(key.slice(-6)), BigInt(crc32(key.slice(0, -6))))
    }),
  )
})

test('every digit is as likely as any other', () => {
  const seen = new Map<string, number>()
  let state = 1n
  const count = 2000
  for (let index = 0; index < count; index += 1) {
    // A multiplicative generator modulo 2^256: plain, and the same on every run.
    state = (state * 0x2545f4914f6cdd1dn * 0x9e3779b97f4a7c15n + 99n) % 2n ** 256n
    const random = Buffer.from(state.toString(16).padStart(64, '0'), 'hex')
    // The first digit is left out: 2^256 is a little less than 62^43.
    for (const digit of makeKey(parts, random).slice(HEAD.length + 1, -6)) {
      seen.set(digit, (seen.get(digit) ?? 0) + 1)
    }
  }
  const expected = (count * 42) / 62
  const chiSquare = [...DIGITS].reduce(
    (sum, digit) => sum + ((seen.get(digit) ?? 0) - expected) ** 2 / expected,
    0,
  )
  // For 61 degrees of freedom one in ten thousand is above 109.
  assert.ok(chiSquare < 109, `${chiSquare}`)
})

test('bytes at both ends keep the length', () => {
  const lowest = makeKey(parts, new Uint8Array(RANDOM_BYTES))
  const highest = makeKey(parts, new Uint8Array(RANDOM_BYTES).fill(255))
  assert.equal(lowest.slice(HEAD.length, -6), '0'.repeat(43))
  assert.equal(decode(highest.slice(HEAD.length, -6)), 2n ** 256n - 1n)
})

test('fewer or more bytes than 32 are a mistake', () => {
  for (const size of [0, 31, 33]) {
    assert.throws(() => makeKey(parts, new Uint8Array(size)), RangeError)
  }
})

test('the prefix shows the head and four characters', () => {
  const key = makeKey(parts, new Uint8Array(RANDOM_BYTES).fill(7))
  assert.equal(prefixOf(parts, key), key.slice(0, HEAD.length + 4))
})

const names = [
  ['live', true],
  ['team-a1', true],
  ['a', true],
  ['', false],
  ['-a', false],
  ['a_b', false],
  ['a.b', false],
  ['a b', false],
  ['ä', false],
  ['a'.repeat(63), true],
  ['a'.repeat(64), false],
] as const

for (const [name, isRight] of names) {
  test(`"${name}" ${isRight ? 'may' : 'may not'} be part of a key`, () => {
    assert.equal(isKeyPart(name), isRight)
  })
}
