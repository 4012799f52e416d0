/** Attempts at an upstream whose credential is fetched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { GatewayError } from '../../../dataplane/base/errors.ts'
import { Presence } from '../../../dataplane/call/presence.ts'
import { anIdentity } from './identity-service.ts'
import { ANSWER, type Asked, aRig, type Outcome } from './journeys.ts'

const UPSTREAMS = [{ name: 'a', circuit_breaker: { failure_threshold: 2 } }, { name: 'b' }]
const SINGLE = [{ name: 'r', strategy: 'single', primary: 'a' }]
const FALLBACK = [{ name: 'r', strategy: 'primary_with_fallback', primary: 'a', fallback: ['b'] }]

/** Upstream `a` has a credential of the rig's identity service. */
function aRigWith(routes: readonly Readonly<Record<string, unknown>>[]) {
  const identity = anIdentity()
  const rig = aRig({ upstreams: UPSTREAMS, routes })
  Object.defineProperty(rig.state('a').credential, 'renewed', { value: identity.renewed })
  return { rig, identity }
}

const refused = (outcome: Outcome) => (outcome as { refused: GatewayError }).refused

function authorization({ request }: Asked): string | undefined {
  const { headers } = request
  return headers[headers.indexOf('authorization') + 1]
}

test('a request before the end of the first fetch waits for it', async () => {
  const { rig, identity } = aRigWith(SINGLE)
  const outcome = rig.send()
  await turn()
  assert.equal(rig.asked.length, 0)
  await identity.last.give(identity.token('t1', 3600))
  await turn()
  assert.equal(authorization(rig.last), 'Bearer t1')
  rig.last.answer(200, ANSWER)
  assert.equal(((await outcome) as { kind: string }).kind, 'whole')
})

test('each attempt carries the present credential', async () => {
  const { rig, identity } = aRigWith(SINGLE)
  for (const value of ['t1', 't1', 't2']) {
    if (value !== identity.renewed.current?.value) {
      if (value === 't2') await identity.pass(3_600_000 * 0.6)
      await identity.last.give(identity.token(value, 3600))
    }
    const outcome = rig.send()
    assert.equal(authorization(rig.last), `Bearer ${value}`)
    rig.last.answer(200, ANSWER)
    await outcome
  }
})

test('without a credential the attempt fails at once, goes to the fallback, and the breaker stays closed', async () => {
  const { rig, identity } = aRigWith(FALLBACK)
  await identity.last.refuse('AADSTS7000215: Invalid client secret provided.')
  for (const _ of [1, 2, 3]) {
    const outcome = rig.send()
    await turn()
    assert.equal(rig.last.upstream, 'b')
    rig.last.answer(200, ANSWER)
    await outcome
  }
  assert.equal(rig.state('a').breaker.peek(rig.now), 'closed')
  assert.equal(rig.state('a').inFlight, 0)
  const [, entry] = rig.heard.find(([what]) => what === 'ended') ?? []
  const { outcome, reason } = entry as { outcome: string; reason: string }
  assert.equal(outcome, 'credential')
  assert.match(reason, /could not be fetched from the test: AADSTS7000215/)
  assert.deepEqual(rig.status('a').credential, {
    from: 'the test',
    state: 'missing',
    reason: 'AADSTS7000215: Invalid client secret provided.',
  })
})

test('the client gets the name of the upstream, and nothing about the identity service', async () => {
  const { rig, identity } = aRigWith(SINGLE)
  await identity.last.refuse('AADSTS7000215: Invalid client secret provided.')
  const { code, status, message } = refused(await rig.send())
  assert.deepEqual([code, status], ['ERR_GW_UPSTREAM_ERROR', 502])
  assert.equal(message, 'Upstream "a" cannot be called: its credential could not be fetched.')
})

test('a client that leaves while it waits for a credential has sent nothing', async () => {
  const { rig, identity } = aRigWith(SINGLE)
  const presence = new Presence()
  const outcome = rig.send({}, presence)
  await turn()
  presence.end()
  assert.equal(refused(await outcome).code, 'ERR_GW_STREAM_ABORTED')
  await identity.last.give(identity.token('t1', 3600))
  assert.equal(rig.asked.length, 0)
})

test('a 401 renews the credential early, and the next request waits for the new one', async () => {
  const { rig, identity } = aRigWith(SINGLE)
  await identity.last.give(identity.token('t1', 3600))
  const first = rig.send()
  rig.last.answer(401, { error: { message: 'token t1-of-the-test expired', code: '401' } })
  assert.equal(refused(await first).code, 'ERR_GW_UPSTREAM_ERROR')
  assert.equal(identity.fetches.length, 2)
  const second = rig.send()
  await identity.last.give(identity.token('t2', 3600))
  await turn()
  assert.equal(authorization(rig.last), 'Bearer t2')
  rig.last.answer(200, ANSWER)
  await second
})

test("a fetched credential, and each of its secret parts, is masked in the upstream's text", async () => {
  const { rig, identity } = aRigWith(SINGLE)
  const value = JSON.stringify({ id: 'AKIA-PUBLIC', secret: 'the-secret-key', token: 'the-token' })
  const secrets = ['the-secret-key', 'the-token']
  await identity.last.give({ ...identity.token(value, 3600), secrets })
  const outcome = rig.send()
  rig.last.answer(400, { error: { message: 'AKIA-PUBLIC the-secret-key the-token' } })
  assert.equal(refused(await outcome).message, 'AKIA-PUBLIC *** ***')
})
