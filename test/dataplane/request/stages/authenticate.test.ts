/** Authentication: which headers hold a key, and which keys are accepted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import type { LastKey } from '../../../../dataplane/call/call.ts'
import { callerWithKey, type Headers } from '../../headed.ts'
import { aSnapshot, NOW } from './snapshots.ts'

const at = (milliseconds: number) => new Date(NOW + milliseconds).toISOString()
const snapshot = aSnapshot([
  { id: 'good' },
  { id: 'revoked', revoked_at: at(-1000) },
  { id: 'expires-now', expires_at: at(0) },
  { id: 'expires-soon', expires_at: at(1000) },
])

function caller(headers: Headers, lastKey?: LastKey): string {
  const { key, tenant } = callerWithKey(headers, snapshot, NOW, undefined, lastKey)
  assert.equal(tenant, 'acme')
  return key.record.id
}

const TAKEN: readonly [string, Headers, string][] = [
  ['a bearer', { authorization: 'Bearer key-good' }, 'good'],
  ['a bearer in other case and with more space', { authorization: 'bEARER   key-good' }, 'good'],
  ['x-api-key', { 'x-api-key': 'key-good' }, 'good'],
  ['api-key', { 'api-key': 'key-good' }, 'good'],
  [
    'the same in all of them',
    { authorization: 'Bearer key-good', 'api-key': 'key-good', 'x-api-key': 'key-good' },
    'good',
  ],
  ['a key beside another scheme', { authorization: 'Basic eA==', 'x-api-key': 'key-good' }, 'good'],
  ['a key beside an empty one', { authorization: 'Bearer key-good', 'x-api-key': '' }, 'good'],
  ['a key that expires soon', { 'x-api-key': 'key-expires-soon' }, 'expires-soon'],
]

for (const [what, headers, id] of TAKEN) {
  test(`${what} is taken`, () => assert.equal(caller(headers), id))
}

test('each request of a connection is judged by its own key', () => {
  const lastKey = { key: '', digest: '' }
  const from = (key: string) => () => caller({ 'x-api-key': key }, lastKey)
  for (const round of ['first', 'second']) {
    assert.equal(from('key-good')(), 'good', round)
    assert.equal(from('key-good')(), 'good', round)
    assert.equal(from('key-expires-soon')(), 'expires-soon', round)
    assert.throws(from('key-goodx'), GatewayError)
    assert.throws(from('key-revoked'), GatewayError)
    assert.throws(from('key-revoked'), GatewayError)
  }
})

const REFUSED: readonly [string, Headers, RegExp][] = [
  ['nothing', {}, /no key/],
  ['an empty header', { authorization: '' }, /no key/],
  ['a scheme alone', { authorization: 'Bearer ' }, /no bearer/],
  ['a key without a scheme', { authorization: 'key-good' }, /no bearer/],
  ['a key behind a tab', { authorization: 'Bearer\tkey-good' }, /no bearer/],
  ['two keys in one header', { authorization: 'Bearer key-good key-good' }, /no bearer/],
  ['an unknown key', { 'x-api-key': 'key-bad' }, /unknown/],
  ['the hash of a key', { 'x-api-key': [...snapshot.keys.keys()][0] ?? '' }, /unknown/],
  ['a key in other case', { 'x-api-key': 'KEY-GOOD' }, /unknown/],
  ['a key with a letter more', { 'x-api-key': 'key-goodx' }, /unknown/],
  ['a key of 513 letters', { 'x-api-key': 'k'.repeat(513) }, /too long/],
  ['a member of every object', { 'x-api-key': '__proto__' }, /unknown/],
  ['a revoked key', { 'x-api-key': 'key-revoked' }, /revoked/],
  ['a key that expires now', { 'x-api-key': 'key-expires-now' }, /expired/],
]

/** By the reason; all other bad keys get the same answer. */
const MESSAGES: Readonly<Record<string, RegExp>> = {
  'no key': /^No API key has arrived/,
  'no bearer': /^Authorization must be 'Bearer <key>'/,
}

for (const [what, headers, reason] of REFUSED) {
  test(`${what} is refused with the message for its kind, and the reason for the trace`, () => {
    assert.throws(
      () => caller(headers),
      (error) => {
        assert.ok(error instanceof GatewayError)
        assert.equal(error.code, 'ERR_GW_AUTH_INVALID_KEY')
        assert.match(error.message, MESSAGES[reason.source] ?? /^Incorrect API key provided/)
        assert.match(String(error.cause), reason)
        return true
      },
    )
  })
}

test('two different keys are a malformed request, even if both are good', () => {
  const headers = { authorization: 'Bearer key-good', 'x-api-key': 'key-expires-soon' }
  assert.throws(() => caller(headers), { code: 'ERR_GW_INVALID_REQUEST' })
})
