/** Several keys of an upstream in the configuration: both forms, and keys that cannot be in a list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printResolved } from '../../../dataplane/config/shown/resolved.ts'
import { aDocument, load, type Row, testRefusals } from './documents.ts'

const withKeys = (keys: string, upstream = 'provider: openai, model: m') => `  upstreams:
    - {name: a, endpoint: "https://a.example", ${upstream}, api_key: ${keys}} # here
  routes:
    - {name: r, strategy: single, primary: a}
`

const ROWS: Row[] = [
  {
    name: 'a literal key in a list',
    yaml: withKeys('["${env:A}", sk-literal]'),
    path: 'gw.upstreams[0].api_key[1]',
    says: 'a credential must be a reference, never a literal',
    fix: 'Write ${env:NAME}',
  },
  {
    name: 'the same key twice',
    yaml: withKeys('["${env:A}", "${env:B}", "${env:A}"]'),
    path: 'gw.upstreams[0].api_key[2]',
    says: 'names a key that is in the list already',
    fix: 'Remove it',
  },
  {
    name: 'further keys without a first one',
    yaml: withKeys('"${env:A}"').replace('api_key: "${env:A}"', 'further_api_keys: ["${env:A}"]'),
    path: 'gw.upstreams[0].further_api_keys',
    says: 'cannot take effect without api_key',
    fix: 'Move the first one to api_key',
  },
]

testRefusals(ROWS)

test('an access key of AWS in a list is refused', () => {
  const yaml = withKeys(
    '["${env:A}", "${env:B}"]',
    'provider: bedrock, model: m, region: us-east-1',
  )
  const env = { A: 'bedrock-api-key', B: 'AKIAIOSFODNN7EXAMPLE:secretsecretsecret' }
  const { problems } = load(aDocument(yaml), { env })
  const found = problems.filter(({ severity }) => severity === 'error')
  assert.deepEqual(
    found.map(({ path }) => path),
    ['gw.upstreams[0].api_key[1]'],
  )
  assert.match(found[0]?.message ?? '', /is no key that requests carry unchanged/)
})

test('more than sixteen keys are refused', () => {
  const keys = Array.from({ length: 17 }, (_, index) => `"\${env:K${index}}"`)
  const env = Object.fromEntries(keys.map((_, index) => [`K${index}`, 'k']))
  const { problems, configuration } = load(aDocument(withKeys(`[${keys.join(', ')}]`)), { env })
  assert.equal(configuration, undefined)
  assert.ok(problems.some(({ path }) => path.startsWith('gw.upstreams[0]')))
})

test('what is shown has the references, and loads again to the same keys', () => {
  const env = { A: 'value-of-a', B: 'value-of-b' }
  const text = aDocument(withKeys('["${env:A}", "${env:B}"]'))
  const shown = printResolved(load(text, { env }))
  assert.doesNotMatch(shown, /value-of/)
  const { configuration } = load(shown, { env })
  const [upstream] = configuration?.gw.upstreams ?? []
  assert.deepEqual([upstream?.api_key, upstream?.further_api_keys], ['value-of-a', ['value-of-b']])
})
