/** Which file may import which: circles, outside packages, tiers of tests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circlesOf } from './circles.ts'
import { code, importsOf, product } from './sources.ts'

/** Each outside package has one door, so that it can be replaced there. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  fastify: ['dataplane/listener/server.ts'],
  undici: ['dataplane/connection/', 'operator/kube/transport.ts'],
  'prom-client': ['dataplane/telemetry/', 'operator/telemetry.ts'],
  'sonic-boom': ['dataplane/telemetry/lines/line-sink.ts'],
  yaml: ['dataplane/config/', 'crds/generate.ts', 'charts/', 'operator/kube/kubeconfig.ts', 'cli/'],
  zod: ['dataplane/schema/', 'dataplane/config/', 'dataplane/delivery/', 'crds/', 'cli/'],
  ioredis: ['dataplane/store/redis/redis-client.ts'],
  '@kubernetes/client-node': ['operator/kube/cluster.ts'],
  '@azure/identity': ['dataplane/providers/azure_openai/identity.ts'],
  commander: ['cli/'],
  pg: ['dataplane/vector-stores/pgvector.ts'],
  'node:sqlite': ['dataplane/store/'],
}

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

test('stages take values: a visit is known to pipeline, visit and the APIs alone', () => {
  for (const { path, text } of product) {
    if (/^dataplane\/(request\/(pipeline|visit)\.ts|apis\/)/.test(path)) continue
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
