/** `gw config validate` judges a document of a cluster as `gw apply` does, and one of a file as before. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gw } from '../helpers/gw-here.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-validate-cluster-'))
after(() => rmSync(folder, { recursive: true }))

const JWT = {
  name: 'cluster',
  issuer: 'https://kubernetes.default.svc',
  audiences: ['gw'],
  jwks: { kubernetes: true },
  tenant: { claim: '/kubernetes.io/namespace' },
}
const POOLED = {
  ...{ name: 'pooled', provider: 'vllm', model: 'm', context_window: 8192 },
  ...{ endpoints: 'pool', pool: { name: 'models' } },
}

async function validated(head: object, flags: readonly string[] = [], more = {}) {
  const file = join(folder, 'gw.yaml')
  const document = {
    ...{ apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', ...head },
    gw: {
      auth: { jwt: [JWT] },
      upstreams: [POOLED],
      routes: [{ name: 'chat', strategy: 'single', upstreams: ['pooled'] }],
      ...more,
    },
  }
  writeFileSync(file, JSON.stringify(document, undefined, 2))
  return await gw('config', 'validate', '--file', file, ...flags)
}

const named = { metadata: { name: 'production' } }

test('a document with a spec or a namespace may contain settings that only a cluster supports', async () => {
  const heads = [
    { metadata: { name: 'production', namespace: 'ai' } },
    { ...named, spec: { replicas: 2 } },
  ]
  for (const head of heads) {
    const { code, stdout, stderr } = await validated(head)
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /ok: .*1 route, 1 upstream/)
  }
  const { code, stderr } = await validated({ spec: { replicas: 2 } }, ['--explain'])
  assert.equal(code, 0, stderr)
})

test('--cluster judges any document so, and asks for the name that it needs there', async () => {
  assert.equal((await validated(named, ['--cluster'])).code, 0)
  const { code, stdout, stderr } = await validated({}, ['--cluster'])
  assert.equal(code, 1)
  assert.match(stdout + stderr, /the gateway has no name/)
})

test('without any of these a file is checked like that of a stand-alone gateway', async () => {
  const { code, stdout, stderr } = await validated(named)
  assert.equal(code, 1)
  assert.match(stdout + stderr, /kubernetes/)
})

test('a mistake in the spec, and what no cluster can do, are refused with their place', async () => {
  const { code, stdout, stderr } = await validated(
    { metadata: { name: 'production', namespace: 'ai' }, spec: { replica: 2 } },
    [],
    { gateway: { tls: { cert_file: '/etc/tls.crt', key_file: '/etc/tls.key' } } },
  )
  assert.equal(code, 1)
  assert.match(stdout + stderr, /gw\.yaml:\d+:\d+: error: spec.*replica/)
})
