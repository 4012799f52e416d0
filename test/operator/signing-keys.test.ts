/** Which key signs, which keys are trusted, and how stored documents are verified. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { keyIdOf } from '../../dataplane/delivery/signed.ts'
import {
  bundleData,
  readStored,
  signConfiguration,
  signKeys,
} from '../../operator/delivery/bundle.ts'
import { loadSigningKeys, readSigningKeys } from '../../operator/delivery/signing-keys.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aHash } from '../helpers/kubernetes/a-gateway.ts'
import { startScriptedApi } from './scripted-api.ts'

const gateway = { uid: 'u', namespace: 'ai', name: 'production' }

function aPair() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    id: keyIdOf(publicKey),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

function aSecret(members: Readonly<Record<string, string>>): KubeObject {
  const data = Object.entries(members).map(([name, text]) => [
    name,
    Buffer.from(text).toString('base64'),
  ])
  return { metadata: { namespace: 'gw-system', name: 's' }, data: Object.fromEntries(data) }
}

function aConfigMap(stored: Parameters<typeof bundleData>[0]): KubeObject {
  return { metadata: { name: 'production-config' }, ...bundleData(stored) }
}

test('one key signs, and every public key is trusted while keys are replaced', () => {
  const [old, next] = [aPair(), aPair()]
  const before = readSigningKeys(
    aSecret({ 'signing.pem': old.privatePem, 'next.pem': next.privatePem }),
  )
  const after = readSigningKeys(
    aSecret({ 'signing.pem': next.privatePem, 'old.pem': old.publicPem }),
  )
  assert.equal(before.keyId, old.id)
  assert.equal(after.keyId, next.id)
  for (const { trusted } of [before, after]) {
    assert.deepEqual(Object.keys(trusted).sort(), [`${old.id}.pem`, `${next.id}.pem`].sort())
    assert.ok(!JSON.stringify(trusted).includes('PRIVATE'))
  }
})

test("the operator fills a release's empty Secret once, and later reads it", async () => {
  const api = await startScriptedApi()
  const place = { namespace: 'gw-system', name: 's' }
  let stored: KubeObject = { metadata: { ...place, resourceVersion: '7' }, type: 'Opaque' }
  const writes: string[] = []
  api.outage = async (request, response) => {
    if (request.method !== 'GET') {
      writes.push(`${request.method} ${request.url?.split('?')[0]}`)
      stored = (await json(request)) as KubeObject // The client sends an object.
    }
    response.end(JSON.stringify(stored))
  }
  try {
    const made = await loadSigningKeys(api.client(), place)
    const read = await loadSigningKeys(api.client(), place)
    assert.equal(read.keyId, made.keyId)
    assert.deepEqual(writes, ['PUT /api/v1/namespaces/gw-system/secrets/s'])
    assert.equal(stored.metadata.resourceVersion, '7')
  } finally {
    await api.stop()
  }
})

test('the error names a Secret without a usable key, and never its contents', () => {
  const says = (members: Record<string, string>) => {
    try {
      readSigningKeys(aSecret(members))
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  assert.match(says({}) ?? '', /gw-system\/s has no private key in signing\.pem; restore it/)
  assert.match(says({ 'signing.pem': aPair().publicPem }) ?? '', /has no private key/)
  const broken = says({ 'signing.pem': '-----BEGIN PRIVATE KEY-----\ncanary\n' }) ?? ''
  assert.match(broken, /signing\.pem is not an Ed25519 key/)
  assert.ok(!broken.includes('canary'))
})

test('more keys than a ConfigMap holds are refused with their number and the fix', () => {
  const keys = readSigningKeys(aSecret({ 'signing.pem': aPair().privatePem }))
  const signed = signKeys([], { gateway, sequence: 1 }, keys)
  const packed = Buffer.alloc(1024 * 1024 + 1)
  assert.ok(bundleData({ keys: signed }).binaryData)
  assert.throws(
    () => bundleData({ keys: { ...signed, packed } }),
    /^Error: 0 keys take 1048577 bytes packed, and 1048576 are left.*Delete expired or revoked GatewayKeys/,
  )
})

test('stored documents are read again, except those that were changed or belong to another gateway', () => {
  const keys = readSigningKeys(aSecret({ 'signing.pem': aPair().privatePem }))
  const payload = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai' },
    gw: { upstreams: [{ api_key: '${secret:openai/key}' }] },
  }
  const configuration = signConfiguration(payload, { gateway, sequence: 4, generation: 2 }, keys)
  const records = [{ id: 'a', tenant: 'acme', hash: aHash('a'), routes: ['*'] }]
  const signed = signKeys(records, { gateway, sequence: 9 }, keys)
  const stored = readStored(aConfigMap({ configuration, keys: signed }), 'u', keys)
  assert.deepEqual(stored.configuration, configuration)
  assert.equal(stored.keys?.hash, signed.hash)
  assert.deepEqual(stored.keys?.records, records)
  assert.deepEqual(readStored(aConfigMap({ configuration, keys: signed }), 'other', keys), {})
  const tampered = { ...configuration, text: configuration.text.replace('openai', 'rival0') }
  assert.equal(
    readStored(aConfigMap({ configuration: tampered }), 'u', keys).configuration,
    undefined,
  )
  const strangers = readSigningKeys(aSecret({ 'signing.pem': aPair().privatePem }))
  assert.deepEqual(readStored(aConfigMap({ configuration, keys: signed }), 'u', strangers), {})
})
