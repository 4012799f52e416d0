/** The keeper creates the webhook's certificates, stores them, and publishes their authority. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueBelow } from '../../dataplane/json/values.ts'
import { CertificateKeeper } from '../../operator/admission/certificate-keeper.ts'
import { type Certificates, readCertificates } from '../../operator/admission/certificates.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { until } from '../helpers/until.ts'
import { startScriptedApi } from './scripted-api.ts'

const START = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000
const SECRET = '/api/v1/namespaces/gw-system/secrets/gw-operator-webhook'
const CONFIGURATION =
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gw-system-gw'

/** A cluster of these two objects, on a separate server. */
async function aCluster() {
  const api = await startScriptedApi()
  const metadata = { name: 'gw-system-gw', uid: 'uid-1' }
  const state = {
    secret: { metadata: { namespace: 'gw-system', name: 'gw-operator-webhook' } } as
      | KubeObject
      | undefined,
    configuration: { metadata, webhooks: [{ name: 'a' }, { name: 'b' }] } as KubeObject | undefined,
    writes: [] as { readonly call: string; readonly body: KubeObject }[],
    reads: 0,
    /** Writes to this path are refused. */
    refuses: '',
  }
  const say = (object: KubeObject | undefined) =>
    object === undefined
      ? { status: 404, text: '{"kind":"Status","code":404,"reason":"NotFound"}' }
      : { status: 200, text: JSON.stringify(object) }
  api.outage = async (request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    const isSecret = path.includes('/secrets')
    let answer = say(isSecret ? state.secret : state.configuration)
    if (request.method === 'GET') state.reads++
    else {
      const pieces: Buffer[] = await Array.fromAsync(request)
      const body: KubeObject = JSON.parse(Buffer.concat(pieces).toString())
      state.writes.push({ call: `${request.method} ${path}`, body })
      if (path === state.refuses) {
        answer = { status: 403, text: '{"kind":"Status","code":403,"message":"forbidden"}' }
      } else {
        if (isSecret) state.secret = body
        else state.configuration = merged(state.configuration, body)
        answer = say(body)
      }
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(answer.text)
  }
  return { api, state }
}

/** As a server-side apply adds to the webhook of each name. */
function merged(stored: KubeObject | undefined, applied: KubeObject): KubeObject {
  assert.ok(stored)
  const { webhooks } = applied as unknown as { webhooks: { name: string }[] }
  return { ...stored, webhooks }
}

function bundles(configuration: KubeObject | undefined): readonly unknown[] {
  const { webhooks } = configuration as unknown as { webhooks: unknown[] }
  return webhooks.map((webhook) => valueBelow(webhook, 'clientConfig', 'caBundle'))
}

async function aKeeper(options: { isLeading?: boolean } = {}) {
  const { api, state } = await aCluster()
  const shown: Certificates[] = []
  const errors: string[] = []
  const clock = { now: START }
  const keeper = new CertificateKeeper({
    api: api.client(),
    secret: { namespace: 'gw-system', name: 'gw-operator-webhook' },
    configuration: 'gw-system-gw',
    hosts: ['gw-webhook.gw-system.svc'],
    isLeading: () => options.isLeading ?? true,
    wallClock: () => clock.now,
    onChange: (certificates) => shown.push(certificates),
    onError: (error) => errors.push(String(error)),
    timings: { lookMs: 10, retryMs: 10 },
  })
  const stop = async () => {
    await keeper.stop()
    await api.stop()
  }
  return { keeper, state, shown, errors, clock, stop }
}

test("the leader fills a release's empty Secret, and publishes its authority to every webhook, and changes nothing else", async () => {
  const { keeper, state, shown, errors, stop } = await aKeeper()
  try {
    keeper.start()
    await until('it is published', () => state.writes.length === 2)
    assert.deepEqual(
      state.writes.map(({ call }) => call),
      [`PUT ${SECRET}`, `PATCH ${CONFIGURATION}`],
    )
    const published = state.writes[1]?.body
    const { metadata, webhooks, apiVersion: _, kind: __, ...more } = published ?? ({} as KubeObject)
    assert.deepEqual(more, {})
    assert.deepEqual(metadata, { name: 'gw-system-gw', uid: 'uid-1' })
    assert.ok(state.secret)
    const stored = readCertificates(state.secret)
    const caBundle = valueBelow(state.secret, 'data', 'ca.crt')
    assert.deepEqual(webhooks, [
      { name: 'a', clientConfig: { caBundle } },
      { name: 'b', clientConfig: { caBundle } },
    ])
    await until('it is shown', () => shown.length === 1)
    assert.deepEqual(shown[0]?.leaf, stored?.leaf)
    assert.deepEqual(errors, [])
  } finally {
    await stop()
  }
})

test('if there is no Secret the leader creates one', async () => {
  const { keeper, state, stop } = await aKeeper()
  state.secret = undefined
  try {
    keeper.start()
    await until('it is made', () => state.writes.length > 0)
    assert.equal(state.writes[0]?.call, 'POST /api/v1/namespaces/gw-system/secrets')
  } finally {
    await stop()
  }
})

test('an operator that does not lead uses the existing certificate, keeps watching, and writes nothing', async () => {
  const leader = await aKeeper()
  const follower = await aKeeper({ isLeading: false })
  try {
    follower.keeper.start()
    await until('it has looked', () => follower.keeper.hasLooked)
    assert.equal(follower.shown.length, 0)
    leader.keeper.start()
    await until('the leader has filled it', () => leader.shown.length === 1)
    follower.state.secret = leader.state.secret
    await until('the follower uses it', () => follower.shown.length === 1)
    assert.deepEqual(follower.shown[0]?.leaf, leader.shown[0]?.leaf)
    assert.deepEqual(follower.state.writes, [])
  } finally {
    await leader.stop()
    await follower.stop()
  }
})

test('time alone renews them: first the certificate, then the authority, and clients trust both authorities meanwhile', async () => {
  const { keeper, state, shown, clock, stop } = await aKeeper()
  const bundleLength = () => {
    const [bundle] = bundles(state.configuration)
    return String(Buffer.from(String(bundle), 'base64')).split('BEGIN CERT').length - 1
  }
  try {
    keeper.start()
    await until('the first', () => shown.length === 1)
    clock.now = START + 21 * DAY_MS
    await until('the second', () => shown.length === 2)
    assert.deepEqual(shown[1]?.authorities, shown[0]?.authorities)
    clock.now = START + 274 * DAY_MS
    await until('the third', () => shown.length === 3)
    clock.now = START + 276 * DAY_MS
    await until('two authorities are published', () => bundleLength() === 2)
    assert.equal(shown.length, 3)
    clock.now += 2 * 3_600_000
    await until('the new authority has signed', () => shown.length === 4)
    assert.equal(bundleLength(), 2)
  } finally {
    await stop()
  }
})

test('a bundle changed by another client is restored', async () => {
  const { keeper, state, stop } = await aKeeper()
  try {
    keeper.start()
    await until('it is published', () => state.writes.length === 2)
    const wanted = bundles(state.configuration)
    const metadata = { name: 'gw-system-gw', uid: 'uid-2' }
    state.configuration = {
      metadata,
      webhooks: [{ name: 'a', clientConfig: { caBundle: 'eA==' } }],
    }
    await until('it is published again', () => state.writes.length === 3)
    assert.deepEqual(bundles(state.configuration), wanted.slice(0, 1))
  } finally {
    await stop()
  }
})

test('a missing configuration is named once, and gets the bundle as soon as it exists', async () => {
  const { keeper, state, shown, errors, stop } = await aKeeper()
  const { configuration } = state
  state.configuration = undefined
  try {
    keeper.start()
    await until('it says so', () => errors.length === 1)
    assert.match(
      errors[0] ?? '',
      /there is no ValidatingWebhookConfiguration gw-system-gw.*create it/,
    )
    // It serves anyway, because a user may call it through another configuration.
    assert.equal(shown.length, 1)
    const { reads } = state
    await until('it has checked again', () => state.reads > reads + 6)
    state.configuration = configuration
    await until('it is told', () => bundles(state.configuration)[0] !== undefined)
    assert.equal(errors.length, 1)
  } finally {
    await stop()
  }
})

test('a certificate that cannot be stored is not used either, and the previous one stays', async () => {
  const { keeper, state, shown, errors, clock, stop } = await aKeeper()
  try {
    keeper.start()
    await until('it is published', () => state.writes.length === 2)
    state.refuses = SECRET
    clock.now = START + 21 * DAY_MS
    await until('it says so', () => errors.length === 1)
    assert.match(errors[0] ?? '', /403 forbidden/)
    assert.equal(shown.length, 1)
    state.refuses = ''
    await until('it is renewed', () => shown.length === 2)
  } finally {
    await stop()
  }
})
