/** Large configurations: read in a separate process, with exactly the same result. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readConfiguration } from '../../../dataplane/config/document/source.ts'
import type { Loaded } from '../../../dataplane/config/load.ts'
import {
  loadConfigurationApart,
  readConfigurationApart,
} from '../../../dataplane/config/load-apart.ts'
import { aDocument, hashOf } from './documents.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-apart-'))
after(() => rmSync(folder, { recursive: true }))

const ENV = { ...process.env, CREDENTIAL: 'sk-1' }
/** More than are passed at once. */
const TENANTS = 1_200

function crowd(lines: (tenant: string) => string): string {
  return Array.from({ length: TENANTS }, (_, index) => lines(`t${index}`)).join('\n')
}

const KEYS = crowd(
  (tenant) => `    - {id: ${tenant}, tenant: ${tenant}, hash: "${hashOf(tenant)}", routes: [r]}`,
)

const LARGE = aDocument(`  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, api_key: "\${env:CREDENTIAL}"}
    - {name: b, provider: vllm, endpoint: "http://b:8000", model: m}
  rate_limits:
    default: {requests_per_minute: 60}
    tenants:
${crowd((tenant) => `      - {tenant: ${tenant}, requests_per_minute: 1000, burst: 900}`)}
  budgets:
${crowd((tenant) => `    - {tenant: ${tenant}, tokens_per_day: 1000}`)}
  api_keys:
${KEYS}
# ${'Comments in such a file may be long. '.repeat(3000)}
`)

function written(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

/** All data, and the facts about each reference. */
function toldBy({ referenceAt, ...data }: Loaded): object {
  return { ...data, reference: referenceAt(['gw', 'upstreams', 0, 'api_key']) }
}

for (const [what, text] of [
  ['that is right', LARGE],
  ['with mistakes', LARGE.replace('tenant: t1100, req', 'tenant: "", req').replace('model: m', '')],
  ['that is no YAML', `${LARGE}\n  : [`],
] as const) {
  test(`a large document ${what} is reported as if it had been read here`, async () => {
    const file = written('large.yaml', text)
    const loading = readConfigurationApart(file, ENV)
    assert.ok(loading instanceof Promise, 'it is read in another process')
    const loaded = await loading
    assert.deepEqual(toldBy(loaded), toldBy(readConfiguration(file, ENV)))
  })
}

test("a large document that is not a file is reported under the caller's name for it", async () => {
  const file = written('put.yaml', LARGE)
  const loaded = await loadConfigurationApart(LARGE, file, ENV)
  assert.deepEqual(toldBy(loaded), toldBy(readConfiguration(file, ENV)))
})

test('a small document is read at once, unless a file next to it is large', async () => {
  const keys = written('keys.yaml', `${KEYS}\n# ${'Long. '.repeat(50_000)}\n`)
  const file = written('small.yaml', aDocument('  api_keys_file: keys.yaml'))
  assert.ok(!(readConfigurationApart(file, ENV) instanceof Promise))
  const loading = readConfigurationApart(file, ENV, { beside: [keys] })
  assert.ok(loading instanceof Promise)
  const { configuration } = await loading
  assert.equal(configuration?.gw.api_keys.length, TENANTS + 1)
})

test('the reason why the process cannot read is reported', async () => {
  const file = written('other.yaml', LARGE)
  const loading = readConfigurationApart(file, { ...ENV, NODE_OPTIONS: '--no-such-option' })
  await assert.rejects(Promise.resolve(loading), /no-such-option/)
})
