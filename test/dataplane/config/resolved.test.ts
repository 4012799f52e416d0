/** What is printed of a configuration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printResolved } from '../../../dataplane/config/resolved.ts'
import { aDocument, hashOf, load } from './documents.ts'

const TOLERANT = aDocument(`  upstreams:
    - name: a
      provider: vLLM
      endpoint: http://\${env:HOST}:8000
      model: "yes"
      headers: {X-Plain: value, Authorization: "Bearer \${env:TOKEN}"}
    - {name: b, provider: open-ai, model: m, api_key: "\${secret:s/k}", project: "\${file:/p}"}
  tls: {min_version: 1.3}
  http_proxy: \${env:PROXY}
  no_proxy: localhost, .svc
  api_keys_file: keys.yaml`)
const WORLD = {
  env: { HOST: 'host', TOKEN: 'hunter2', PROXY: 'http://u:hunter2@p:1' },
  files: {
    'keys.yaml': `- {id: one, tenant: t, hash: "${hashOf('one')}", routes: [r]}\n`,
    '/var/run/secrets/gw/s/k': 'hunter2',
    '/p': 'hunter2',
  },
}

test('the resolved form validates, means the same, and is its own resolved form', () => {
  const first = load(TOLERANT, WORLD)
  assert.ok(first.configuration)
  const printed = printResolved(first)
  const second = load(printed, WORLD)
  assert.deepEqual(
    second.problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  const { headers: _, ...upstream } = first.configuration.gw.upstreams[0] ?? {}
  const { headers: __, ...again } = second.configuration?.gw.upstreams[0] ?? {}
  assert.deepEqual(again, upstream)
  for (const section of [
    'gateway',
    'routes',
    'api_keys',
    'tls',
    'no_proxy',
    'http_proxy',
  ] as const) {
    assert.deepEqual(second.configuration?.gw[section], first.configuration.gw[section])
  }
  assert.equal(second.configuration?.gw.upstreams[1]?.api_key, 'hunter2')
  assert.equal(printResolved(second), printed)
})

test('the resolved form shows references where credentials are, and hides literal ones', () => {
  const printed = printResolved(load(TOLERANT, WORLD))
  assert.doesNotMatch(printed, /hunter2/)
  for (const expected of [
    'endpoint: http://host:8000',
    'api_key: ${secret:s/k}',
    'project: ${file:/p}',
    'X-Plain: "***"',
    'Authorization: Bearer ${env:TOKEN}',
    'http_proxy: ${env:PROXY}',
    'model: "yes"',
    'min_version: TLSv1.3',
    'provider: openai',
    'api_keys_file: keys.yaml',
    'listen_port: 8080',
  ]) {
    assert.ok(printed.includes(expected), `${expected} is not in\n${printed}`)
  }
  const literal = aDocument('  http_proxy: http://u:hunter2@p:1')
  assert.match(printResolved(load(literal)), /http_proxy: http:\/\/\*\*\*:\*\*\*@p:1/)
})
