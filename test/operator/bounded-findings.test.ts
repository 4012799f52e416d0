/** A document with thousands of mistakes costs in proportion to its length, and is reported in a few lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from '../../dataplane/config/judgement/judge.ts'
import { COMPARISONS_MAX, Suggestions } from '../../dataplane/config/judgement/nearest.ts'
import { type Compiled, compile, showFinding } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const UPSTREAMS = 250
const ROUTES = 64
const NAMES_OF_ROUTE = 62
const named = (what: string, index: number) => `${what}-${String(index).padStart(24, '0')}`

function upstreamNamed(name: string, endpoint = 'http://10.1.2.3:8000') {
  return { name, provider: 'vllm', endpoint, model: 'm' }
}

/** Some 197 KB: every route leads to missing upstreams. */
function withUnknownNames(): KubeObject {
  const upstreams = Array.from({ length: UPSTREAMS }, (_, index) =>
    upstreamNamed(named('up', index)),
  )
  const routes = Array.from({ length: ROUTES }, (_, route) => ({
    name: named('r', route),
    strategy: 'round_robin',
    upstreams: Array.from({ length: NAMES_OF_ROUTE }, (_, index) => ({
      name: named('pu', route * NAMES_OF_ROUTE + index),
    })),
  }))
  return aGateway({ gw: { upstreams, routes } })
}

function compiled(gateway: KubeObject): Compiled {
  return compile({ gateway, keys: [], now: 0 })
}

test('thousands of unknown names are compared at most a thousand times', () => {
  const gateway = withUnknownNames()
  assert.ok(JSON.stringify(gateway).length > 180_000)
  const suggestions = new Suggestions()
  const { apiVersion, kind, gw } = gateway
  const tree = { apiVersion, kind, gw }
  const { findings } = judge(
    { resolved: tree, written: tree, sourceOf: (path) => path },
    { now: 0, suggestions },
  )
  assert.match(findings[0]?.message ?? '', /unknown upstream/)
  assert.equal(suggestions.comparisons, COMPARISONS_MAX)
})

test('the first hundred mistakes are reported, and the number of the others', () => {
  const { problems, configuration } = compiled(withUnknownNames())
  assert.equal(configuration, undefined)
  assert.equal(problems.length, 102)
  assert.match(
    showFinding(problems[0] ?? assert.fail()),
    /unknown upstream "pu-000000000000000000000000"/,
  )
  assert.match(
    showFinding(problems[100] ?? assert.fail()),
    /: and 3,868 more errors\. Correct the others/,
  )
})

test('a hundred of thousands of unknown fields get a message', () => {
  const fields = Array.from({ length: 5000 }, (_, index) => [named('field', index), 1])
  const { problems } = compiled(aGateway({ gw: Object.fromEntries(fields) }))
  assert.equal(problems.length, 102)
  assert.match(problems[0]?.message ?? '', /unknown field "field-000000000000000000000000"/)
  assert.match(problems[100]?.message ?? '', /^and 4,9\d\d more errors$/)
})

test('references that only a pod can resolve hide nothing and are not counted', () => {
  const names = Array.from({ length: 300 }, (_, index) => named('up', index))
  const upstreams = names.map((name) => upstreamNamed(name, `\${secret:places/${name}}`))
  const routes = [{ name: 'r', strategy: 'round_robin', upstreams: names.slice(0, 64) }]
  const { problems, configuration } = compiled(aGateway({ gw: { upstreams, routes } }))
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  assert.ok(configuration)
})
