/** Ids of responses that an upstream keeps: readable for every replica, valid for one tenant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openedId, sealedId, secretOf } from '../../dataplane/apis/openai-responses/kept/ids.ts'

const place = { kind: 'response', route: 'chat', upstream: 'home', id: 'resp_1' } as const
const secret = secretOf({ credential: 'a-written-credential' })
const sealed = sealedId(place, 'acme', secret)
const opened = (id: string, tenant = 'acme', known = secret) =>
  openedId('response', id, tenant, () => known)

test('a tenant finds its response by the id in each process that has the secret', () => {
  assert.deepEqual(opened(sealed), place)
  assert.match(sealed, /^resp_[\w-]+$/)
})

test('an id of another tenant, of another secret or with any other character is invalid', () => {
  assert.equal(opened(sealed, 'globex'), undefined)
  assert.equal(opened(sealed, 'acme', 'another-credential'), undefined)
  for (let at = 0; at < sealed.length; at++) {
    const other = sealed[at] === 'A' ? 'B' : 'A'
    const changed = sealed.slice(0, at) + other + sealed.slice(at + 1)
    // The last character of base64 may have unused bits, which change nothing.
    const found = opened(changed)
    if (found !== undefined) assert.deepEqual(found, place)
  }
  for (const id of ['', 'resp_gw', 'resp_1', `resp_gw${'A'.repeat(4000)}`, `${sealed}A`])
    assert.equal(opened(id), undefined)
})

test('an id of a response is not an id of a conversation', () => {
  const known = sealedId({ ...place, kind: 'conversation' }, 'acme', secret)
  assert.match(known, /^conv_[\w-]+$/)
  assert.equal(opened(`resp${known.slice(4)}`), undefined)
})

test('two tenants whose names run into the route have different ids', () => {
  assert.equal(opened(sealedId({ ...place, route: 'x' }, 'acme,chat', secret), 'acme'), undefined)
})

test('a credential that could be guessed signs nothing', () => {
  assert.notEqual(secretOf({ credential: 'short' }), 'short')
  assert.equal(secretOf({ credential: '' }), secretOf({ credential: 'short' }))
})
