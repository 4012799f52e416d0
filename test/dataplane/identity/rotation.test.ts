/**
 * An issuer replaces its key: tokens of the new one are accepted, those of the old one end with it, and no request
 * waits for a fetch.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { Issuers } from '../../../dataplane/identity/issuers.ts'
import { authenticate } from '../../../dataplane/request/stages/authenticate.ts'
import { createLog } from '../../../dataplane/telemetry/log.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { aClock } from '../../helpers/clock.ts'
import {
  aSigningKey,
  aToken,
  ISSUER,
  keySetOf,
  NOW,
  type SigningKey,
} from '../../helpers/token-issuer.ts'
import { until } from '../../helpers/until.ts'
import { headed } from '../headed.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'

const [one, two] = await Promise.all([aSigningKey('one'), aSigningKey('two')])

interface Scheduled {
  readonly delayMs: number
  readonly call: () => void
}

/** Gateway and issuer: `offer` sets the issuer's keys, `next` is the fetch that is due. */
async function anIssuer(t: { after(end: () => Promise<void>): void }, first = one) {
  const folder = await mkdtemp(join(tmpdir(), 'gw-issuer-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'keys.json')
  const offer = (...keys: readonly SigningKey[]) => writeFile(file, keySetOf(...keys))
  await offer(first)
  const names = aSnapshotOf({
    auth: {
      jwt: [
        {
          name: 'idp',
          issuer: ISSUER,
          audiences: ['gw'],
          jwks: { file },
          tenant: { claim: '/team' },
        },
      ],
    },
    rate_limits: { tenants: [{ tenant: 'acme', requests_per_minute: 60 }] },
  })
  const clock = aClock()
  const log = createLog({ write() {}, flush() {}, wallClock: clock.wall })
  const metrics = createMetrics()
  const state: { next?: Scheduled; fetches: number } = { fetches: 0 }
  const schedule = (delayMs: number, call: () => void) => {
    const scheduled = { delayMs, call }
    state.next = scheduled
    return () => void (state.next === scheduled && delete state.next)
  }
  const issuers = new Issuers({ clock, random: () => 0, schedule, log, metrics })
  issuers.follow(names.section)
  const ask = async (token: string) => {
    const headers = headed({ authorization: `Bearer ${token}` })
    try {
      return (await authenticate(headers, { names, issuers }, NOW)).tenant
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error))
      return error.code
    }
  }
  /** Runs the due fetch; returns its wait. */
  const renew = async () => {
    const due = state.next ?? assert.fail('no fetch is due')
    delete state.next
    clock.pass(due.delayMs)
    due.call()
    await until('it is fetched', () => state.next !== undefined)
    return due.delayMs
  }
  return { ask, offer, renew, clock }
}

const REFUSED = 'ERR_GW_AUTH_INVALID_KEY'

test('a new key is accepted within half a minute of its first token, and the old one until it is removed', async (t) => {
  const { ask, offer, renew, clock } = await anIssuer(t)
  const [old, fresh] = [await aToken(one), await aToken(two)]
  assert.equal(await ask(old), 'acme')
  await offer(one, two)
  clock.pass(10_000)
  assert.equal(await ask(fresh), REFUSED)
  const waitedMs = await renew()
  assert.ok(waitedMs <= 30_000, `${waitedMs} ms`)
  assert.deepEqual([await ask(fresh), await ask(old)], ['acme', 'acme'])
})

for (const [what, name] of [
  ['a name that it used before', 'one'],
  ['no name', undefined],
] as const) {
  test(`a new key with ${what} is accepted within half a minute of its first token`, async (t) => {
    const [before, later] = [await aSigningKey(name), await aSigningKey(name)]
    const { ask, offer, renew, clock } = await anIssuer(t, before)
    const fresh = await aToken(later)
    assert.equal(await ask(await aToken(before)), 'acme')
    await offer(later)
    clock.pass(10_000)
    assert.equal(await ask(fresh), REFUSED)
    const waitedMs = await renew()
    assert.ok(waitedMs <= 30_000, `${waitedMs} ms`)
    assert.equal(await ask(fresh), 'acme')
  })
}

test('a removed key is refused after the next fetch, even for a recently verified token', async (t) => {
  const { ask, offer, renew } = await anIssuer(t)
  const [old, fresh] = [await aToken(one), await aToken(two)]
  assert.equal(await ask(old), 'acme')
  await offer(two)
  const waitedMs = await renew()
  assert.ok(waitedMs <= 300_000, `${waitedMs} ms`)
  assert.deepEqual([await ask(old), await ask(fresh)], [REFUSED, 'acme'])
})
