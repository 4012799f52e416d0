/** The specification's shape, and keys in a separate file. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { aDocument, aHost, hashOf, load } from './documents.ts'

const SPECIFIED = readFileSync(new URL('./specified.yaml', import.meta.url), 'utf8')
const ENV = {
  OPENAI_API_KEY: 'sk-1',
  REDIS_URL: 'redis://u:hunter2@redis:6379/0',
  PROXY: 'http://u:hunter2@p:1',
}

test("the specification's reference configuration is accepted", () => {
  const { problems } = load(SPECIFIED, { env: ENV }, 'validate')
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
})

const FILE = `  api_keys_file: keys.yaml
  api_keys:
    - {id: own, tenant: t, hash: "${hashOf('own')}", routes: ["*"]}`

function keyLine(id: string, route: string): string {
  return `{id: ${id}, tenant: t, hash: "${hashOf(id)}", routes: [${route}]}`
}

test("keys of a file follow the document's own, as a list or under api_keys", () => {
  const list = `- ${keyLine('one', 'r')}\n- ${keyLine('two', '"*"')}\n`
  for (const text of [list, `api_keys:\n${list}`]) {
    const { configuration, ownKeys, keysFile } = load(aDocument(FILE), {
      files: { 'keys.yaml': text },
    })
    assert.deepEqual(
      configuration?.gw.api_keys.map(({ id }) => id),
      ['own', 'one', 'two'],
    )
    assert.equal(ownKeys, 1)
    assert.equal(keysFile, 'keys.yaml')
  }
})

test('a problem in the keys file names that file and its own line', () => {
  const text = `api_keys:\n  - ${keyLine('one', 'r')}\n  - ${keyLine('own', 'rr')}\n`
  const { problems } = load(aDocument(FILE), { files: { 'keys.yaml': text } })
  assert.deepEqual(
    problems.map(({ file, line, path }) => `${file}:${line} ${path}`),
    [
      'keys.yaml:3 api_keys[1].id',
      'keys.yaml:3 api_keys[1].hash',
      'keys.yaml:3 api_keys[1].routes[0]',
    ],
  )
})

for (const [name, text, says] of [
  ['no list', 'keys: []\n', 'holds no list'],
  ['another field', 'api_keys: []\nother: 1\n', 'unknown field "other"'],
  ['a syntax error', '- [\n', 'not valid YAML'],
] as const) {
  test(`a keys file with ${name} is refused`, () => {
    const { problems, configuration } = load(aDocument(FILE), { files: { 'keys.yaml': text } })
    assert.equal(configuration, undefined)
    assert.ok(problems.some(({ file, message }) => file === 'keys.yaml' && message.includes(says)))
  })
}

test('a keys file that cannot be read is fatal to run and a warning to validate', () => {
  const running = load(aDocument(FILE))
  assert.equal(running.configuration, undefined)
  assert.equal(running.problems[0]?.path, 'gw.api_keys_file')
  const { configuration, problems } = load(aDocument(FILE), {}, 'validate')
  assert.ok(configuration)
  assert.equal(problems[0]?.severity, 'warning')
})

test('a keys file is relative to the configuration, and its references to itself', () => {
  const text = aDocument(FILE.replace('keys.yaml', 'more/keys.yaml'))
  const keys = `- {id: one, tenant: t, hash: "\${file:hash}", routes: [r]}\n`
  const files = { 'conf/more/keys.yaml': keys, 'conf/more/hash': `${hashOf('one')}\n` }
  const loaded = loadConfiguration(text, 'conf/gw.yaml', aHost({ files }))
  assert.deepEqual(loaded.problems, [])
  assert.equal(loaded.keysFile, 'conf/more/keys.yaml')
  assert.equal(loaded.configuration?.gw.api_keys[1]?.hash, hashOf('one'))
})

test('a relative state_dir is relative to the file, an absolute one is unchanged', () => {
  for (const [written, placed] of [
    ['state/here', '/etc/gw/state/here'],
    ['/var/lib/gw', '/var/lib/gw'],
  ]) {
    const text = aDocument(`  state_dir: ${written}`)
    const { configuration } = loadConfiguration(text, '/etc/gw/gw.yaml', aHost())
    assert.equal(configuration?.gw.state_dir, placed)
  }
})

test('a relative file of usage is relative to the file', () => {
  const text = aDocument('  usage: {sinks: {file: {path: logs/usage.jsonl}}}')
  const { configuration } = loadConfiguration(text, '/etc/gw/gw.yaml', aHost())
  assert.equal(configuration?.gw.usage.sinks?.file?.path, '/etc/gw/logs/usage.jsonl')
})

test('the files of references are reported, so that they can be watched', () => {
  const files = { '/etc/gw/team.key': 'sk-1', '/run/secrets/a/b': 'sk-2' }
  const env = { GW_SECRETS_DIR: '/run/secrets', NAME: 'a' }
  const text = aDocument(`  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a", model: m, api_key: "\${file:team.key}"}
    - {name: b, provider: vllm, endpoint: "http://b", model: "\${env:NAME}", api_key: "\${secret:a/b}"}`)
  const { referredFiles } = loadConfiguration(text, '/etc/gw/gw.yaml', aHost({ env, files }))
  assert.deepEqual(referredFiles, ['/etc/gw/team.key', '/run/secrets/a/b'])
})
