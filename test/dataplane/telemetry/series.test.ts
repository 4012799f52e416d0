import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { Histogram, Numbers } from '../../../dataplane/telemetry/series.ts'

interface Shown {
  readonly metricName: string
  readonly labels?: Readonly<Record<string, unknown>>
  readonly value: number
}

const aCounter = () =>
  new Numbers({
    kind: 'counter',
    name: 'requests',
    help: 'Help.',
    labels: ['route', 'upstream', 'status'],
  })

test('a cell is the same for the same labels, and another for others', () => {
  const family = aCounter()
  family.at('a', 'b', '200').value++
  family.at('a', 'b', '200').value++
  family.at('a', 'b', '500').value++
  const values = [...family.entries()].map(([labels, { value }]) => [Object.values(labels), value])
  assert.deepEqual(values, [
    [['a', 'b', '200'], 2],
    [['a', 'b', '500'], 1],
  ])
})

test('a family without labels is there before anything is counted, one with labels is not', () => {
  assert.equal(
    [...new Numbers({ kind: 'gauge', name: 'open', help: 'Help.', labels: [] }).entries()].length,
    1,
  )
  assert.equal([...aCounter().entries()].length, 0)
})

test('amounts of money are summed up as whole nano-dollars, and shown in USD', async () => {
  const { cost } = createMetrics()
  for (let request = 0; request < 1_000_000; request++) cost.at('a', 'b').value += 70_000_003
  assert.equal((await cost.get()).values[0]?.value, 70_000.003)
})

for (const [label, kept] of [
  ['route', ['a/x/200', 'a/y/500']],
  ['upstream', ['a/x/200', 'b/x/500']],
  ['status', ['a/x/200']],
  ['other', ['a/x/200', 'a/y/500', 'b/x/500']],
] as const) {
  test(`series are removed by ${label}`, () => {
    const family = aCounter()
    for (const [route, upstream, status] of [
      ['a', 'x', '200'],
      ['a', 'y', '500'],
      ['b', 'x', '500'],
    ]) {
      family.at(route, upstream, status).value = 1
    }
    family.retain(label, (value) => ['a', 'x', '200'].includes(value))
    const left = [...family.entries()].map(([labels]) => Object.values(labels).join('/'))
    assert.deepEqual(left, kept)
  })
}

test('a bound belongs to its bucket, and buckets add up', async () => {
  const histogram = new Histogram('duration', 'Help.', ['route'])
  for (const seconds of [0, 0.001, 0.0011, 5, 300, 301]) histogram.at('a').observe(seconds)
  // prom-client's type leaves out the name that it reads of each value.
  const values = (await histogram.get()).values as Shown[]
  const shownAs = (suffix: string, le?: number | string) =>
    values.find((each) => each.metricName === `duration${suffix}` && each.labels?.le === le)?.value
  assert.equal(shownAs('_bucket', 0.001), 2)
  assert.equal(shownAs('_bucket', 0.0025), 3)
  assert.equal(shownAs('_bucket', 5), 4)
  assert.equal(shownAs('_bucket', 300), 5)
  assert.equal(shownAs('_bucket', '+Inf'), 6)
  const sum = values.find(({ metricName }) => metricName === 'duration_sum')
  assert.ok(Math.abs((sum?.value ?? 0) - 606.0021) < 1e-9)
})

test('a gauge with an external source is read before it is shown', async () => {
  const gauge = new Numbers({ kind: 'gauge', name: 'depth', help: 'Help.', labels: [] })
  gauge.collect = () => {
    gauge.at().value = 7
  }
  assert.equal((await gauge.get()).values[0]?.value, 7)
})

test('large families are rendered in separate turns, so that requests run between them', async () => {
  const families = ['one', 'two', 'three'].map((name) => {
    const family = new Numbers({ kind: 'gauge', name, help: 'Help.', labels: ['tenant'] })
    for (let tenant = 0; tenant < 2_000; tenant++) family.at(`t${tenant}`)
    return family
  })
  const order: string[] = []
  let isOver = false
  const serve = () => {
    order.push('a request')
    if (!isOver) setImmediate(serve)
  }
  setImmediate(serve)
  await Promise.all(families.map((one) => one.get().then(({ name }) => order.push(name))))
  isOver = true
  for (const [place, name] of order.entries()) {
    if (name !== 'a request') assert.equal(order[place + 1] ?? 'a request', 'a request')
  }
})
