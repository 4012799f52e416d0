/** `gw config validate` of a file with TenantPolicies beside the configuration. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gw } from '../helpers/gw.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-policies-'))
after(() => rmSync(folder, { recursive: true }))

const GATEWAY = `apiVersion: inference.gw/v1
kind: GatewayConfig
metadata: {name: production, namespace: ai}
spec:
  tenants:
    from:
      - {namespaces: [team-a], tenants: [research, dev], ceiling: {requests_per_minute: 300}}
gw:
  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192}
  routes:
    - {name: chat, strategy: single, primary: a}
`

function policy(name: string, spec: string): string {
  return `apiVersion: inference.gw/v1alpha1
kind: TenantPolicy
metadata: {name: ${name}, namespace: team-a}
spec:
  gateway: ai/production
${spec.replace(/^/gm, '  ')}
`
}

async function validated(...documents: string[]) {
  const file = join(folder, 'gw.yaml')
  writeFileSync(file, documents.join('---\n'))
  const { code, stdout } = await gw('config', 'validate', '--file', file, '-o', 'json')
  const found = JSON.parse(stdout)
  // Only the policies are looked at.
  const problems = found.problems.filter(({ path }: { path: string }) => /^(spec|meta)/.test(path))
  return { ...found, code, problems }
}

const lineOf = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length

test('a policy above the ceiling causes a warning with the number, at its line', async () => {
  const above = policy('a', 'tenant: research\nlimits: {requests_per_minute: 600}')
  for (const documents of [
    [GATEWAY, above],
    [above, GATEWAY],
  ]) {
    const { code, policies, problems } = await validated(...documents)
    assert.deepEqual([code, policies, problems.length], [0, 1, 1])
    const [{ severity, message, fix, line }] = problems
    assert.equal(severity, 'warning')
    assert.match(message, /requests_per_minute 600 is above the ceiling and is replaced by 300/)
    assert.match(fix, /^Lower the amounts/)
    const text = documents.join('---\n')
    assert.equal(line, lineOf(text, '  gateway: ai/production') - 1)
  }
})

test('policies that can have no effect are refused with place and fix', async () => {
  const within = policy('a', 'tenant: research\nlimits: {requests_per_minute: 60}')
  const rows: readonly (readonly [string, string, RegExp])[] = [
    [
      policy('b', 'tenant: other'),
      'spec.tenant',
      /no entry for namespace "team-a" and tenant "other"/,
    ],
    [policy('b', 'tenant: research'), 'spec.tenant', /another TenantPolicy of the file/],
    [
      policy('b', 'tenant: dev\nlimits: {requests_per_minute: none}'),
      'spec.limits.requests_per_minute',
      /number/,
    ],
    [
      policy(
        'b',
        'tenant: dev\nbudget: {tokens_per_day: 5, on_exceeded: downgrade, downgrade_route: nowhere}',
      ),
      'spec.budget.downgrade_route',
      /unknown route "nowhere"/,
    ],
  ]
  assert.equal((await validated(GATEWAY, within)).code, 0)
  for (const [document, path, says] of rows) {
    const { code, problems } = await validated(GATEWAY, within, document)
    assert.equal(code, 1, path)
    const [problem] = problems.filter(({ severity }: { severity: string }) => severity === 'error')
    assert.equal(problem.path, path)
    assert.match(problem.message, says)
    assert.notEqual(problem.fix, '')
  }
})

test('a policy of another gateway is not checked, and the output reports that', async () => {
  const other = policy('b', 'tenant: dev').replace('ai/production', 'ai/other')
  const { code, problems } = await validated(GATEWAY, other)
  assert.equal(code, 0)
  assert.match(problems[0].message, /names ai\/other, but the file has ai\/production/)
})
