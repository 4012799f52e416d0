/** The credential of an upstream over reloads, and its reports to operators. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { UpstreamSettings } from '../../../dataplane/config/snapshot.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import {
  credentialStatus,
  UpstreamCredential,
} from '../../../dataplane/upstream/credentials/upstream-credential.ts'
import type { FetchedCredential } from '../../../dataplane/wire/credential-source.ts'
import { aClock } from '../../helpers/clock.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'

interface Opened {
  readonly signals: AbortSignal[]
  answer: (() => FetchedCredential) | undefined
}

/** An upstream whose provider opens sources that the test plays. */
function aRig() {
  const clock = aClock()
  const metrics = createMetrics()
  const timers = new Set<() => void>()
  const lines: (readonly [level: string, message: string, fields: unknown])[] = []
  const opened: Opened[] = []
  const [usual] = aSnapshotOf({}).upstreams.values()
  assert.ok(usual)
  const provider = {
    ...usual.provider,
    openCredentials({ credential }: UpstreamSettings) {
      if (credential !== '') return undefined
      const one: Opened = { signals: [], answer: undefined }
      opened.push(one)
      const fetch = async (signal: AbortSignal) => {
        one.signals.push(signal)
        if (one.answer === undefined) throw new Error('the secret of the service is away')
        return one.answer()
      }
      return { from: 'the test', fetch }
    },
  }
  const credential = new UpstreamCredential('a', {
    clock,
    metrics,
    random: () => 0.5,
    env: {},
    log: {
      event: (level, event, message, fields) =>
        void lines.push([level, `${event}: ${message}`, fields]),
      request() {},
      flush() {},
    },
    schedule(_delayMs, call) {
      timers.add(call)
      return () => void timers.delete(call)
    },
  })
  return {
    credential,
    lines,
    opened,
    timers,
    async configure(settings: Partial<UpstreamSettings> = {}) {
      credential.configure({ ...usual, credential: '', provider, ...settings } as UpstreamSettings)
      await turn()
    },
    valid: () =>
      [...metrics.credentialValid.entries()].map(([labels, { value }]) => [labels.upstream, value]),
  }
}

test('a fetched credential survives a reload, and is fetched again if the settings differ', async () => {
  const rig = aRig()
  await rig.configure()
  const { renewed } = rig.credential
  await rig.configure({ timeoutMs: 7 })
  assert.equal(rig.credential.renewed, renewed)
  await rig.configure({ project: 'another' })
  assert.notEqual(rig.credential.renewed, renewed)
  assert.equal(rig.opened.length, 2)
  assert.equal(rig.timers.size, 1, 'the old one is not renewed any more')
})

test('a written key replaces the identity, and its series is removed', async () => {
  const rig = aRig()
  await rig.configure()
  assert.deepEqual(rig.valid(), [['a', 0]])
  await rig.configure({ credential: 'sk-written' })
  assert.equal(rig.credential.renewed, undefined)
  assert.deepEqual([rig.valid(), credentialStatus(rig.credential)], [[], {}])
  assert.equal(rig.timers.size, 0)
})

test('nothing is fetched for an unused upstream, or one with a credential in its headers', async () => {
  for (const settings of [{ disabled: 'no secret' }, { headers: { authorization: 'Basic x' } }]) {
    const rig = aRig()
    await rig.configure(settings)
    assert.equal(rig.opened.length, 0)
  }
})

test('log and status have its source, validity and expiry', async () => {
  const rig = aRig()
  await rig.configure()
  const [source] = rig.opened
  assert.ok(source)
  assert.partialDeepStrictEqual(rig.lines, [
    [
      'error',
      'credential: The credential of upstream "a" could not be fetched from the test.',
      { upstream: 'a', state: 'missing', reason: 'the secret of the service is away' },
    ],
  ])
  const expiresAtMs = Date.parse('2026-11-21T13:00:00Z')
  source.answer = () => ({ value: 'token-of-the-test', expiresAtMs })
  for (const call of [...rig.timers]) call()
  await turn()
  assert.deepEqual(rig.lines.at(-1), [
    'info',
    'credential: The credential of upstream "a" was fetched from the test.',
    { upstream: 'a', state: 'valid', expires_at: '2026-11-21T13:00:00.000Z' },
  ])
  assert.deepEqual(credentialStatus(rig.credential), {
    credential: { from: 'the test', state: 'valid', expires_at: '2026-11-21T13:00:00.000Z' },
  })
  assert.deepEqual(rig.valid(), [['a', 1]])
  assert.equal(JSON.stringify(rig.lines).includes('token-of-the-test'), false)
})
