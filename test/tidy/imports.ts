/** Which file may import which: layers, circles, outside packages, tiers of tests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circlesOf } from './circles.ts'
import { code, importsOf, isTypeImport, product } from './sources.ts'

/** The folders that a folder may import; the first prefix that matches a file decides. */
const IMPORTS: readonly (readonly [from: string, may: readonly string[]])[] = [
  [
    'dataplane/providers/',
    [
      'dataplane/providers/',
      'dataplane/call/call.ts',
      'dataplane/base/errors.ts',
      'dataplane/base/kept-text.ts',
      'dataplane/json/',
    ],
  ],
  [
    'dataplane/strategies/',
    ['dataplane/strategies/', 'dataplane/call/call.ts', 'dataplane/schema/index.ts'],
  ],
  [
    'dataplane/config/',
    [
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/providers/',
      'dataplane/strategies/',
      'dataplane/base/errors.ts',
      'dataplane/accounts/rules.ts',
      'dataplane/accounts/holders.ts',
      'dataplane/accounts/price.ts',
      'dataplane/accounts/reserve.ts',
    ],
  ],
  [
    'dataplane/delivery/',
    [
      'dataplane/delivery/',
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/providers/',
      'dataplane/base/',
    ],
  ],
  ['dataplane/base/', ['dataplane/base/', 'package.json']],
  ['dataplane/json/', ['dataplane/json/', 'dataplane/call/call.ts', 'dataplane/base/errors.ts']],
  [
    'dataplane/stages/',
    [
      'dataplane/',
      '!dataplane/listener/server.ts',
      '!dataplane/main.ts',
      '!dataplane/request/pipeline.ts',
      '!dataplane/stages/',
    ],
  ],
  [
    'dataplane/store/',
    [
      'dataplane/store/',
      'dataplane/limits/',
      'dataplane/budgets/',
      'dataplane/call/call.ts',
      'dataplane/base/errors.ts',
      'dataplane/base/clock.ts',
      'dataplane/base/roster.ts',
      'dataplane/base/turn-end.ts',
      'dataplane/config/redis-url.ts',
    ],
  ],
  ['dataplane/', ['dataplane/', 'package.json']],
  [
    'crds/',
    [
      'crds/',
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/providers/',
      'dataplane/strategies/',
    ],
  ],
  [
    'operator/',
    [
      'operator/',
      'crds/',
      'dataplane/base/certificates/certificate.ts',
      'dataplane/base/start-anew.ts',
      'dataplane/accounts/rules.ts',
      'dataplane/telemetry/tracing/exporter.ts',
      'dataplane/telemetry/tracing/otlp-page.ts',
      'dataplane/telemetry/tracing/writer.ts',
      'dataplane/config/',
      'dataplane/delivery/',
      'dataplane/json/',
      'package.json',
    ],
  ],
  ['charts/', ['charts/', 'operator/rbac.ts', 'dataplane/json/values.ts']],
  [
    'cli/',
    [
      'cli/',
      'crds/',
      'operator/kube/api.ts',
      'operator/kube/api-error.ts',
      'operator/kube/cluster.ts',
      'operator/compile/compile.ts',
      'operator/compile/compile-keys.ts',
      'operator/compile/tenant-policies.ts',
      'operator/compile/with-policies.ts',
      'operator/keys/key-text.ts',
      'operator/kube/objects.ts',
      'operator/workload/names.ts',
      'operator/workload/rolls.ts',
      'operator/workload/route.ts',
      'dataplane/admin/asked-operations.ts',
      'dataplane/admin/guard.ts',
      'dataplane/admin/place.ts',
      'dataplane/console/',
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/main.ts',
      'dataplane/base/start-anew.ts',
      'dataplane/base/version.ts',
      'package.json',
    ],
  ],
]

/** Each outside package has one door, so that it can be replaced there. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  fastify: ['dataplane/listener/server.ts'],
  undici: ['dataplane/upstream/', 'operator/kube/transport.ts'],
  'prom-client': ['dataplane/telemetry/', 'operator/telemetry.ts'],
  'sonic-boom': ['dataplane/telemetry/line-sink.ts'],
  yaml: ['dataplane/config/', 'crds/generate.ts', 'charts/', 'operator/kube/kubeconfig.ts', 'cli/'],
  zod: ['dataplane/config/', 'dataplane/delivery/', 'crds/', 'cli/'],
  ioredis: ['dataplane/store/redis/redis-client.ts'],
  '@kubernetes/client-node': ['operator/kube/cluster.ts'],
  '@azure/identity': ['dataplane/providers/azure_openai/identity.ts'],
  commander: ['cli/'],
  pg: ['dataplane/vector-stores/pgvector.ts'],
  'node:sqlite': ['dataplane/store/'],
}

test('imports point one way', () => {
  for (const { path, text } of product) {
    const rule = IMPORTS.find(([from]) => path.startsWith(from))
    for (const target of importsOf(path, text)) {
      if (rule === undefined) continue
      const forbidden = rule[1].some(
        (may) => may.startsWith('!') && target.startsWith(may.slice(1)),
      )
      const allowed = rule[1].some((may) => target.startsWith(may))
      // Plugins' contract and stage types are what the layers meet in.
      const typesOnly = isTypeImport(text, target)
      assert.ok((allowed && !forbidden) || typesOnly, `${path} must not import ${target}`)
    }
  }
})

test('imports make no circle, type imports counted', () => {
  const graph = new Map(product.map(({ path, text }) => [path, importsOf(path, text)]))
  const advice = 'move what they share to a file that imports none of them'
  assert.deepEqual(circlesOf(graph), [], `they import each other; ${advice}`)
})

test('a circle is found even if other files import it', () => {
  const graph = new Map([
    ['main', ['a', 'leaf']],
    ['a', ['b']],
    ['b', ['leaf', 'c']],
    ['c', ['a']],
    ['leaf', []],
  ])
  assert.deepEqual(circlesOf(graph), [['a', 'b', 'c']])
})

test('an outside package is imported where its door is', () => {
  for (const { path, text } of product) {
    for (const [name, doors] of Object.entries(DOORS)) {
      const imports = new RegExp(
        `^import (?!type ).*from '${name}'|\\bimport\\('${name}'\\)`,
        'm',
      ).test(text)
      const open = doors.some((door) => path.startsWith(door))
      assert.ok(!imports || open, `${path} imports ${name}; only ${doors.join(', ')} may`)
    }
  }
})

test('stages take values: a visit is known to pipeline.ts, visit.ts and the APIs alone', () => {
  for (const { path, text } of product) {
    if (/^dataplane\/(pipeline\.ts|visit\.ts|apis\/)/.test(path)) continue
    const isImported = /^import [^']*\bVisit\b[^']*'/m.test(text)
    assert.ok(
      !isImported,
      `${path} imports Visit; take what you need of it, and return what you learn`,
    )
  }
})

test('a tier of tests imports its own folder, test/helpers and test/fixtures', () => {
  for (const { path, text } of code) {
    const [top, folder, ...below] = path.split('/')
    // Files in test/ itself run the tiers.
    if (top !== 'test' || folder === undefined || below.length === 0) continue
    const may = [`test/${folder}/`, 'test/helpers/', 'test/fixtures/']
    for (const target of importsOf(path, text)) {
      const isFree = !target.startsWith('test/') || may.some((start) => target.startsWith(start))
      assert.ok(isFree, `${path} imports ${target}; move what two tiers need into test/helpers`)
    }
  }
})
