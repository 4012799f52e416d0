/** The keys of an issuer over time: renewed, kept while it is unavailable, and not fetched too often. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeySet } from '../../../dataplane/identity/key-set.ts'
import { aClock } from '../../helpers/clock.ts'
import { aSigningKey, keySetOf } from '../../helpers/token-issuer.ts'

const set = keySetOf(await aSigningKey('one'))

interface Scheduled {
  readonly delayMs: number
  readonly call: () => void
}

function aSet() {
  const clock = aClock()
  const state = { reads: 0, answer: async () => set, next: undefined as Scheduled | undefined }
  const faults: (string | undefined)[] = []
  const read = () => {
    state.reads++
    return state.answer()
  }
  const keys = new KeySet(read, {
    clock,
    random: () => 0,
    schedule(delayMs, call) {
      const scheduled = { delayMs, call }
      state.next = scheduled
      return () => {
        if (state.next === scheduled) state.next = undefined
      }
    },
    fetched: (_, fault) => void faults.push(fault),
  })
  /** Advances the clock to the next fetch, and waits for its end. */
  const toNext = async () => {
    const { next } = state
    assert.ok(next)
    clock.pass(next.delayMs)
    const ended = faults.length
    next.call()
    while (faults.length === ended) await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
  return { keys, clock, state, faults, toNext }
}

const FAILING = () => Promise.reject(new Error('away'))

test('the first token waits for the keys, and later ones do not', async () => {
  const { keys, state } = aSet()
  assert.notEqual(await keys.find(), undefined)
  assert.equal(state.reads, 1)
  assert.notEqual(await keys.find(), undefined)
  assert.equal(state.next?.delayMs, 300_000)
})

test('known keys are valid for a day while the issuer is unavailable, and not longer', async () => {
  const { keys, clock, state, toNext, faults } = aSet()
  await keys.find()
  state.answer = FAILING
  await toNext()
  assert.equal(faults.at(-1), 'away')
  assert.equal(state.next?.delayMs, 30_000)
  assert.notEqual(await keys.find(), undefined)
  assert.match(JSON.stringify(keys.state), /"keys":1,.*"reason":"away"/)
  clock.pass(24 * 3_600_000)
  assert.equal(await keys.find(), undefined)
})

test('a thousand tokens with unknown keys cause one fetch in half a minute', async () => {
  const { keys, clock, state, toNext } = aSet()
  await keys.find()
  clock.pass(10_000)
  for (let index = 0; index < 1000; index++) keys.missed()
  assert.equal(state.reads, 1)
  assert.equal(state.next?.delayMs, 20_000)
  await toNext()
  assert.equal(state.reads, 2)
  clock.pass(60_000)
  keys.missed()
  assert.equal(state.next?.delayMs, 0)
})

test('no request waits for a further fetch, with a known key or not', async () => {
  const { keys, clock, state } = aSet()
  await keys.find()
  state.answer = () => new Promise(() => undefined)
  const { next } = state
  assert.ok(next)
  clock.pass(next.delayMs)
  next.call()
  for (let requests = 0; requests < 1000; requests++) {
    const isFound = keys.find().then((found) => found !== undefined)
    assert.equal(await Promise.race([isFound, turn().then(() => 'it waits')]), true)
    keys.missed()
  }
  assert.equal(state.reads, 2)
})

const turn = () => new Promise((resolve) => setImmediate(() => resolve(undefined)))

const USELESS: Readonly<Record<string, string>> = {
  'no JSON': '<html>',
  'no set': '[]',
  'no key': '{"keys":[]}',
  'a shared secret': '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}',
  'a private key': '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"eA","d":"eA"}]}',
}

for (const [what, text] of Object.entries(USELESS)) {
  test(`a set with ${what} is refused`, async () => {
    const { keys, state, toNext, faults } = aSet()
    await keys.find()
    state.answer = async () => text
    await toNext()
    assert.notEqual(faults.at(-1), undefined)
    assert.notEqual(await keys.find(), undefined)
  })
}
