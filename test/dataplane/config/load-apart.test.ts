/** Configurations are read in a separate process, with exactly the same result. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  loadConfigurationApart,
  readConfigurationApart,
} from '../../../dataplane/config/apart/load-apart.ts'
import type { Loaded } from '../../../dataplane/config/apart/loaded.ts'
import { hostOf, readText } from '../../../dataplane/config/document/source.ts'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
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

function readHere(file: string): Loaded {
  return loadConfiguration(readText(file), file, hostOf(ENV))
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
    const loaded = await readConfigurationApart(file, ENV)
    assert.deepEqual(toldBy(loaded), toldBy(readHere(file)))
  })
}

test("a large document that is not a file is reported under the caller's name for it", async () => {
  const file = written('put.yaml', LARGE)
  const loaded = await loadConfigurationApart(LARGE, file, ENV)
  assert.deepEqual(toldBy(loaded), toldBy(readHere(file)))
})

test('a small document is reported the same way, with the keys of a large file next to it', async () => {
  written('keys.yaml', KEYS)
  const file = written('small.yaml', aDocument('  api_keys_file: keys.yaml'))
  const loaded = await readConfigurationApart(file, ENV)
  assert.equal(loaded.configuration?.gw.api_keys.length, TENANTS + 1)
  assert.deepEqual(toldBy(loaded), toldBy(readHere(file)))
})

test('the example with every kind of section is the same in both processes', async () => {
  const file = join(import.meta.dirname, '../../../cli/example.yaml')
  const loaded = await readConfigurationApart(file, ENV)
  assert.notEqual(loaded.configuration, undefined)
  assert.deepEqual(toldBy(loaded), toldBy(readHere(file)))
})

test('a file that does not exist is refused by its name', async () => {
  const file = join(folder, 'missing.yaml')
  await assert.rejects(readConfigurationApart(file, ENV), /ENOENT.*missing\.yaml/)
})

test('the reason why the process cannot read is reported', async () => {
  const file = written('other.yaml', LARGE)
  const loading = readConfigurationApart(file, { ...ENV, NODE_OPTIONS: '--no-such-option' })
  await assert.rejects(loading, /no-such-option/)
})
