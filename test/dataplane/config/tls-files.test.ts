import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { showPath } from '../../../dataplane/config/judgement/problems.ts'
import {
  placeTlsFiles,
  readTlsFiles,
  type Tls,
  tlsDigest,
  tlsFilesOf,
  tlsOf,
} from '../../../dataplane/config/tls-files.ts'
import { openPool } from '../../../dataplane/connection/client.ts'
import type { Section } from '../../../dataplane/schema/index.ts'
import { bundle, certificates, client, garbage, pair, ROWS } from './tls-material.ts'

type PoolArguments = Parameters<typeof openPool>

after(() => certificates.remove())

for (const [what, tls, said] of ROWS) {
  test(`${what}: ${said.length === 0 ? 'accepted' : 'refused'}`, () => {
    const found = readTlsFiles(aSection(tls), readText)
    assert.deepEqual(
      found.map(({ path, message }) => `${showPath(path)}: ${message}`),
      said,
    )
    assert.ok(found.every(({ severity, fix }) => severity === 'error' && fix !== ''))
  })
}

test("an upstream's own section is checked at its place", () => {
  const [finding] = readTlsFiles(aSection(undefined, { ca_bundle_path: garbage }), readText)
  assert.equal(showPath(finding?.path ?? []), 'gw.upstreams[0].tls.ca_bundle_path')
})

test('no finding shows the content of a file', () => {
  const found = readTlsFiles(aSection({ ...pair, client_cert_path: client.keyFile }), readText)
  assert.ok(!JSON.stringify(found).includes(client.key.split('\n')[1] ?? ''))
})

test("an upstream's own fields win, and the gateway's others still apply", () => {
  const section = aSection({ ca_bundle_path: bundle }, { min_version: 'TLSv1.3' })
  assert.deepEqual(tlsOf(section.upstreams[0] ?? {}, section), {
    ca_bundle_path: bundle,
    min_version: 'TLSv1.3',
  })
  assert.deepEqual(tlsOf({}, section), { ca_bundle_path: bundle })
})

test('every file is listed once', () => {
  const section = aSection({ ca_bundle_path: bundle, ...pair }, { ca_bundle_path: bundle })
  assert.deepEqual(tlsFilesOf(section), [bundle, client.certFile, client.keyFile])
})

test('paths are resolved everywhere, and nothing else changes', () => {
  const section = aSection({ ca_bundle_path: 'ca.pem', min_version: 'TLSv1.3' }, pair)
  assert.deepEqual(
    placeTlsFiles(section, (path) => `/etc/gw/${path}`),
    aSection(
      { ca_bundle_path: '/etc/gw/ca.pem', min_version: 'TLSv1.3' },
      {
        client_cert_path: `/etc/gw/${client.certFile}`,
        client_key_path: `/etc/gw/${client.keyFile}`,
      },
    ),
  )
  assert.deepEqual(placeTlsFiles(aSection(undefined), String), aSection(undefined))
})

test('the digest changes with the content of a file, and does not reveal it', () => {
  const tls = { ca_bundle_path: 'ca.pem' }
  const digest = tlsDigest(tls, () => 'one')
  assert.equal(
    digest,
    tlsDigest({ ...tls, min_version: 'TLSv1.3' }, () => 'one'),
  )
  assert.notEqual(
    digest,
    tlsDigest(tls, () => 'two'),
  )
  assert.notEqual(digest, tlsDigest(tls, readText))
  assert.match(digest, /^[0-9a-f]{64}$/)
})

test('files that became invalid after the check fail requests, not the process', async () => {
  const upstream = {
    origin: 'https://127.0.0.1:9',
    timeoutMs: 1000,
    section: { connect_timeout_seconds: 1 },
  }
  const whole = { tls: { client_cert_path: garbage }, no_proxy: [] }
  // Contains only what a pool needs.
  const pool = openPool(
    upstream as unknown as PoolArguments[0],
    whole as unknown as PoolArguments[1],
    1,
  )
  const asked = pool.request({ path: '/', method: 'GET' })
  await assert.rejects(asked, { code: 'ERR_TLS_SETTINGS' })
  await pool.destroy()
})

function aSection(tls: Tls | undefined, own?: Tls): Section {
  // Contains only what is checked.
  return { tls, upstreams: [{ name: 'a', tls: own }] } as unknown as Section
}

function readText(path: string): string {
  return readFileSync(path, 'utf8')
}
