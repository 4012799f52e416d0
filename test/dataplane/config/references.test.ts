/** References to variables, files and secrets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveReferences } from '../../../dataplane/config/document/references.ts'
import { aDocument, aHost, load } from './documents.ts'

const WORLD = {
  env: {
    A: 'one',
    B: 'two',
    EMPTY: '',
    ENDED: 'ended\n',
    LINE: '\r\n',
    GW_SECRETS_DIR: '/secrets/',
    TRICKY: '${env:A}',
  },
  files: { '/key': 'from-file\n', '/secrets/openai/token': 'from-secret', '/empty': '\n' },
}

function resolve(text: string) {
  const resolution = resolveReferences({ gw: { value: text } }, aHost(WORLD))
  const { unresolved, findings, uses } = resolution
  const tree = resolution.tree as { gw: { value: string } }
  return { value: tree.gw.value, unresolved, findings, use: uses.get('gw.value') }
}

const RESOLVED: [string, string][] = [
  ['plain', 'plain'],
  ['${env:A}', 'one'],
  ['http://${env:A}:${env:B}/x', 'http://one:two/x'],
  ['${file:/key}', 'from-file'],
  ['x${env:ENDED}', 'xended'],
  ['${secret:openai/token}', 'from-secret'],
  ['$A and $$ and {}', '$A and $$ and {}'],
  ['${env:TRICKY}', '${env:A}'],
]

for (const [text, value] of RESOLVED) {
  test(`${text} resolves to ${value}`, () => {
    assert.deepEqual(resolve(text).value, value)
    assert.deepEqual(resolve(text).unresolved, [])
  })
}

const UNRESOLVED: [string, string][] = [
  ['${env:MISSING}', 'environment variable MISSING is not set'],
  ['${env:EMPTY}', 'environment variable EMPTY is empty'],
  ['${env:LINE}', 'environment variable LINE is empty'],
  ['${file:/none}', 'file /none cannot be read (ENOENT)'],
  ['${file:/empty}', 'file /empty is empty'],
  ['${secret:openai/none}', 'file /secrets/openai/none cannot be read (ENOENT)'],
]

for (const [reference, why] of UNRESOLVED) {
  test(`${reference} is unresolved: ${why}`, () => {
    const { value, unresolved } = resolve(`x${reference}`)
    assert.deepEqual(unresolved, [{ path: ['gw', 'value'], reference, why }])
    assert.equal(value, `x${reference}`)
  })
}

const MALFORMED = [
  '${A}',
  '${env:}',
  '${env:A',
  '${}',
  '${secret:a}',
  '${secret:../b/c}',
  '${secret:a/..}',
  '${env:a b}',
]

for (const text of MALFORMED) {
  test(`${text} is malformed`, () => {
    const { findings, value } = resolve(`x ${text}`)
    assert.equal(findings.length, 1)
    assert.match(findings[0]?.message ?? '', /malformed reference/)
    assert.equal(value, `x ${text}`)
  })
}

test('a string keeps its written form', () => {
  assert.deepEqual(resolve('${env:A}${file:/key}').use, {
    text: '${env:A}${file:/key}',
    kinds: ['env', 'file'],
  })
})

const HOSTED = aDocument(
  '  upstreams:\n    - {name: a, provider: openai, model: m, api_key: "${env:KEY}", context_window: 1}\n    - {name: b, provider: vllm, model: m, endpoint: "http://${env:HOST}", context_window: 1}',
)

test('to run, a reference that cannot be resolved is fatal, by field and name', () => {
  const { configuration, problems, unresolved } = load(HOSTED, { env: { HOST: 'h' } })
  assert.equal(configuration, undefined)
  assert.equal(unresolved.length, 1)
  const [problem] = problems
  assert.equal(problem?.code, 'ERR_GW_SECRET_UNRESOLVED')
  assert.equal(problem?.path, 'gw.upstreams[0].api_key')
  assert.match(problem?.message ?? '', /\$\{env:KEY\} .* KEY is not set/)
})

test('for validation, it is a warning about the start', () => {
  const { configuration, problems, unresolved } = load(HOSTED, {}, 'validate')
  assert.ok(configuration)
  assert.deepEqual(
    problems.map(({ severity, message }) => `${severity}: ${message}`),
    ['KEY', 'HOST'].map(
      (name) =>
        `warning: \${env:${name}} is not set here; start would fail with ERR_GW_SECRET_UNRESOLVED`,
    ),
  )
  assert.equal(unresolved.length, 2)
})

test('relative files are relative to the configuration', () => {
  const text = aDocument(
    '  upstreams:\n    - {name: a, provider: openai, model: m, api_key: "${file:key}"}\n    - {name: b, provider: openai, model: m, api_key: "${file:/etc/key}"}',
  )
  const { configuration } = load(text, { files: { key: 'near', '/etc/key': 'far' } })
  assert.deepEqual(
    configuration?.gw.upstreams.map(({ api_key }) => api_key),
    ['near', 'far'],
  )
})

test('no message repeats the value of a reference', () => {
  const yaml =
    '  upstreams:\n    - {name: a, provider: "${env:KEY}", model: m}\n    - {name: b, provider: vllm, model: m, endpoint: "${env:KEY}"}'
  const { problems } = load(aDocument(yaml), { env: { KEY: 'hunter2' } })
  assert.ok(problems.length >= 2)
  assert.doesNotMatch(JSON.stringify(problems), /hunter2/)
})
