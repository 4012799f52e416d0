/** Keys that the operator makes: when one is due, which hashes are valid meanwhile, and an interrupted rotation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GeneratedHash, Generation } from '../../crds/gateway-key.ts'
import { announced, exchanged, isDue, remaining, waitOf } from '../../operator/keys/generated.ts'
import { exchange } from '../../operator/keys/key-secrets.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'

const NOW = Date.parse('2027-01-01T00:00:00Z')
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString()

function aHash(fields: Partial<GeneratedHash> = {}): GeneratedHash {
  const hash = `sha256:${'1'.repeat(64)}`
  return { hash, prefix: 'gw_', revision: 1, madeAt: at(-3600), state: 'Current', ...fields }
}

const wanted = (fields: object = {}) => Generation.parse(fields)

const DUE: readonly [string, object, GeneratedHash[], boolean][] = [
  ['no key', {}, [], true],
  ['a key', {}, [aHash()], false],
  ['a key that never reached its Secret', {}, [aHash({ state: 'Pending' })], true],
  ['another revision', { revision: 2 }, [aHash()], true],
  ['a lower revision', { revision: 1 }, [aHash({ revision: 2 })], true],
  ['a young key', { rotateAfterSeconds: 3601, overlapSeconds: 1 }, [aHash()], false],
  ['an old key', { rotateAfterSeconds: 3600, overlapSeconds: 1 }, [aHash()], true],
]

for (const [what, fields, hashes, due] of DUE) {
  test(`with ${what} a key is ${due ? 'due' : 'not due'}`, () => {
    assert.equal(isDue(wanted(fields), hashes, NOW), due)
  })
}

test('at most two hashes are valid, and the old one ends after the overlap', () => {
  const hashes = [aHash({ prefix: 'b' }), aHash({ prefix: 'a', state: 'Former', notAfter: at(60) })]
  const made = { hash: `sha256:${'2'.repeat(64)}`, prefix: 'c', revision: 2, madeAt: at(0) }
  const next = announced(hashes, made)
  assert.deepEqual(
    next.map(({ prefix, state }) => `${prefix} ${state}`),
    ['c Pending', 'b Current'],
  )
  const done = exchanged(next, wanted({ overlapSeconds: 60 }), NOW)
  assert.deepEqual(
    done.map(({ prefix, state, notAfter }) => `${prefix} ${state} ${notAfter}`),
    ['c Current undefined', 'b Former 2027-01-01T00:01:00Z'],
  )
  assert.equal(exchanged(next, wanted({ overlapSeconds: 0 }), NOW).length, 1)
  assert.equal(remaining(done, NOW + 59_000).length, 2)
  assert.deepEqual(remaining(done, NOW + 60_000), done.slice(0, 1))
  assert.equal(waitOf(wanted(), done, NOW), 60_000)
  assert.equal(waitOf(wanted(), done.slice(0, 1), NOW), undefined)
})

const key: KubeObject = {
  metadata: { name: 'team.a', namespace: 'ai', uid: 'u' },
  spec: { generate: {} },
}

function anApi(refuses: boolean) {
  const calls: string[] = []
  const written: KubeObject[] = []
  const conflict = new ApiError('create', { status: 409, reason: 'AlreadyExists' })
  const write = (verb: string, fails: boolean) => async (_: unknown, secret: KubeObject) => {
    calls.push(verb)
    if (fails) throw conflict
    written.push(secret)
    return secret
  }
  return { calls, written, create: write('create', refuses), update: write('update', false) }
}

test('the hash is kept before the Secret is written, and an existing Secret is replaced', async () => {
  const api = anApi(true)
  const hashes = await exchange(
    api,
    { key, wanted: wanted(), hashes: [], now: NOW },
    async (all) => {
      api.calls.push(`keep ${all.map(({ state }) => state)}`)
    },
  )
  assert.deepEqual(api.calls, ['keep Pending', 'create', 'update'])
  const [secret] = api.written
  assert.equal(secret?.metadata.name, 'gw-key-team.a')
  assert.equal(hashes[0]?.state, 'Current')
  assert.match(hashes[0]?.prefix ?? '', /^gw_live_team-a_/)
})

test('a hash that could not be kept belongs to no key: no Secret is written', async () => {
  const api = anApi(false)
  const failing = exchange(api, { key, wanted: wanted(), hashes: [], now: NOW }, () =>
    Promise.reject(new Error('stale')),
  )
  await assert.rejects(failing, /stale/)
  assert.deepEqual(api.calls, [])
})
