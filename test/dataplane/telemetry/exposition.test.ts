import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gauge, Registry } from 'prom-client'
import { createMetrics, createRegistry } from '../../../dataplane/telemetry/metrics.ts'
import { Expositions } from '../../../dataplane/telemetry/otlp/exposition.ts'

const OPEN = 'application/openmetrics-text; version=1.0.0'
const TENANTS = 2_001

/** The process's own metrics change between two readings. */
function own(text: string): string {
  return text
    .split('\n')
    .filter((line) => /gw_/.test(line))
    .join('\n')
}

function manyTenants() {
  const metrics = createMetrics()
  for (let tenant = 0; tenant < TENANTS; tenant++)
    metrics.tokens.at(`t${tenant}`, 'prompt').value = 7
  metrics.duration.at('route', 'upstream', 'chat').observe(0.2)
  return createRegistry(metrics)
}

test('a family that is written in parts has its help once and every series once', async () => {
  const registry = manyTenants()
  const { text } = await new Expositions(registry).render(undefined)
  assert.equal(own(text), own(await registry.metrics()))
})

test('OpenMetrics has the same series, and an end', async () => {
  const { text, type } = await new Expositions(manyTenants()).render(OPEN)
  assert.match(type, /^application\/openmetrics-text/)
  assert.equal(text.match(/^gw_tokens_total\{/gm)?.length, TENANTS)
  assert.equal(text.match(/^# TYPE gw_tokens /gm)?.length, 1)
  assert.ok(text.endsWith('\n# EOF\n'))
})

test('other work runs while a large family is written', async () => {
  let isOver = false
  let turns = 0
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await new Expositions(manyTenants()).render(undefined)
  isOver = true
  assert.ok(turns > TENANTS / 500, `${turns} turns`)
})

test('a hundred readers at once cost two texts, and later ones get everything before them', async () => {
  let reads = 0
  const registry = new Registry()
  const options = { name: 'gw_up', help: 'A gauge.', registers: [registry] }
  new Gauge({
    ...options,
    collect() {
      this.set(++reads)
    },
  })
  const expositions = new Expositions(registry)
  const asked = Array.from({ length: 100 }, () => expositions.render(undefined))
  const texts = (await Promise.all(asked)).map(({ text }) => text.match(/^gw_up (\d+)/m)?.[1])
  assert.equal(reads, 2)
  assert.deepEqual(new Set(texts.slice(1)), new Set(['2']))
  const { text } = await expositions.render(undefined)
  assert.match(text, /^gw_up 3$/m)
})
