/** The documents that an operator signs: one text for one value, and a proof that accepts no other text. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, randomBytes, sign as signBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  canonicalJson,
  type Envelope,
  hashOf,
  type KeyRecord,
  keyIdOf,
  keysHashOf,
  legacyHashOf,
  recordDigest,
  type SignedDocument,
  sign,
  trustOf,
  verify,
} from '../../../dataplane/delivery/signed.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const pemOf = (key: typeof publicKey) => key.export({ type: 'spki', format: 'pem' }).toString()
const trust = trustOf([pemOf(publicKey)])
const document: SignedDocument = {
  kind: 'Keys',
  gateway: { uid: 'u', namespace: 'ai', name: 'größe' },
  sequence: 1,
  keys: [aRecord('a')],
}
const envelope = sign(document, privateKey)

function aRecord(id: string, more: Partial<KeyRecord> = {}): KeyRecord {
  return { id, tenant: 'acme', hash: `sha256:${hashOf(id)}`, routes: ['*'], ...more }
}

test('canonical JSON sorts members, omits undefined ones, and has no spaces', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [{ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}'],
    [{ z: { y: 1, x: undefined } }, '{"z":{"y":1}}'],
    [[undefined, -0, 1e21, 0.1], '[null,0,1e+21,0.1]'],
    [{ é: 1, e: 2, É: 3, '': 4 }, '{"":4,"e":2,"É":3,"é":1}'],
    ['\u2028"\\\n', '"\u2028\\"\\\\\\n"'],
    [JSON.parse('{"__proto__":{"a":1},"10":1,"9":2}'), '{"10":1,"9":2,"__proto__":{"a":1}}'],
  ]
  for (const [value, text] of cases) assert.equal(canonicalJson(value), text)
})

test('canonical JSON reads back as the value, and is the same for every order of members', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const text = canonicalJson(value)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
      assert.equal(canonicalJson(reversed(value)), text)
    }),
  )
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const)
  return Object.fromEntries(members.toReversed())
}

test('a value that JSON cannot express is not signed', () => {
  let deep: unknown = 1
  for (let depth = 0; depth < 100; depth += 1) deep = [deep]
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, { a: () => 1 }, 1n, deep]) {
    assert.throws(() => canonicalJson(value), /the document|BigInt/)
  }
})

test('a signed document is proven by its public key and read back', () => {
  const verdict = verify(envelope, trust)
  assert.deepEqual(verdict, { ok: true, document })
  assert.equal(envelope.keyId, keyIdOf(publicKey))
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  assert.deepEqual(sign(document, pem), envelope)
})

test('no changed byte of an envelope passes', () => {
  const fields = ['document', 'sha256', 'keyId', 'signature'] as const
  fc.assert(
    fc.property(fc.constantFrom(...fields), fc.nat(), fc.nat(), (field, at, by) => {
      const bytes = Buffer.from(envelope[field])
      const place = at % bytes.length
      bytes[place] = (bytes[place] ?? 0) ^ (1 + (by % 127))
      const changed = { ...envelope, [field]: bytes.toString() }
      assert.equal(verify(changed, trust).ok, false, JSON.stringify(changed))
    }),
  )
})

test('a refusal contains the reason', () => {
  const other = generateKeyPairSync('ed25519')
  const foreign = sign(document, other.privateKey)
  const cases: readonly (readonly [unknown, string])[] = [
    [undefined, 'malformed'],
    ['text', 'malformed'],
    [{ ...envelope, signature: 1 }, 'malformed'],
    [Object.create(envelope), 'malformed'],
    [foreign, 'untrusted_key'],
    [{ ...foreign, keyId: envelope.keyId }, 'bad_signature'],
    [{ ...envelope, signature: randomBytes(64).toString('base64') }, 'bad_signature'],
    [{ ...envelope, signature: '' }, 'bad_signature'],
    [signedText('not JSON'), 'malformed'],
  ]
  for (const [value, reason] of cases) {
    const verdict = verify(value, trust)
    assert.ok(!verdict.ok)
    assert.equal(verdict.reason, reason)
    assert.match(verdict.message, /\.$/)
  }
})

/** A proof of a text that no operator signs. */
function signedText(text: string): Envelope {
  const signature = signBytes(null, Buffer.from(text), privateKey).toString('base64')
  return { document: text, sha256: hash('sha256', text), keyId: keyIdOf(publicKey), signature }
}

test('trust is a list of Ed25519 public keys, and nothing else', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  assert.throws(() => trustOf([secret]), /private key/)
  assert.throws(() => trustOf([pemOf(rsa)]), /Ed25519/)
  assert.throws(() => trustOf(['none']))
  const next = generateKeyPairSync('ed25519')
  const both = trustOf([pemOf(publicKey), pemOf(next.publicKey)])
  assert.ok(verify(envelope, both).ok)
  assert.ok(verify(sign(document, next.privateKey), both).ok)
})

test('the hash of keys is that of their set', () => {
  const records = ['a', 'b', 'c'].map((id) => aRecord(id))
  const whole = keysHashOf(records)
  assert.match(whole, /^[0-9a-f]{64}$/)
  assert.equal(keysHashOf(records.toReversed()), whole)
  assert.notEqual(keysHashOf(records.slice(1)), whole)
  const revoked = [{ ...aRecord('a'), revoked_at: '2026-01-01T00:00:00Z' }, ...records.slice(1)]
  assert.notEqual(keysHashOf(revoked), whole)
  assert.match(keysHashOf([]), /^[0-9a-f]{64}$/)
})

test('no set of chosen keys has the hash of another set', () => {
  const records = Array.from({ length: 300 }, (_, index) => aRecord(`k${index}`))
  const none = withoutTrace(records.map((one) => BigInt(`0x${recordDigest(one)}`)))
  const left = records.filter((_, index) => !none.has(index))
  assert.ok(none.size > 0)
  const digestsOf = (some: readonly KeyRecord[]) => some.map((one) => recordDigest(one))
  assert.equal(legacyHashOf(digestsOf(left)), legacyHashOf(digestsOf(records)))
  assert.notEqual(keysHashOf(left), keysHashOf(records))
})

/** The numbers whose XOR is zero; of more than 256 there are always some. */
function withoutTrace(numbers: readonly bigint[]): ReadonlySet<number> {
  const basis = new Map<number, { value: bigint; from: Set<number> }>()
  for (const [index, number] of numbers.entries()) {
    let value = number
    const from = new Set([index])
    while (value !== 0n) {
      const top = value.toString(2).length
      const known = basis.get(top)
      if (known === undefined) {
        basis.set(top, { value, from })
        break
      }
      value ^= known.value
      for (const one of known.from) if (!from.delete(one)) from.add(one)
    }
    if (value === 0n) return from
  }
  return new Set()
}
