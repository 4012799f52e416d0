/** Objectives for the time to first token, on a clock that the test advances. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Section } from '../../../dataplane/schema/index.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { SAMPLES_MIN } from '../../../dataplane/telemetry/sliding-window.ts'
import { Objectives, type SloBreach } from '../../../dataplane/telemetry/slo.ts'

const TARGET = { ttft_p95_ms: 200, window_seconds: 100 }
/** The window moves by a twentieth of itself. */
const SLICE_MS = 5_000

type Slo = Section['slo']

function routesOf(slos: Readonly<Record<string, Slo>>): Section['routes'] {
  // At most these are read of a route.
  return Object.entries(slos).map(([name, slo]) => ({ name, slo })) as unknown as Section['routes']
}

function watching(slos: Readonly<Record<string, Slo>> = { chat: TARGET }, slo?: Slo) {
  let now = 1_234
  const alerts: SloBreach[] = []
  const lines: { level: string; event: string; fields: Record<string, unknown> }[] = []
  const metrics = createMetrics()
  const objectives = new Objectives({
    clock: { now: () => now, wall: () => now },
    metrics,
    log: {
      event: (level, event, _message, fields = {}) => void lines.push({ level, event, fields }),
      request() {},
      flush() {},
    },
    alert: (breach) => void alerts.push(breach),
  })
  objectives.follow({ slo, routes: routesOf(slos) })
  const pass = (ms: number) => {
    now += ms
    if (now >= objectives.due) objectives.expire(now)
  }
  const met = (ttftMs: number, times: number, route = 'chat') => {
    for (let index = 0; index < times; index++) objectives.met(route, ttftMs)
  }
  return { objectives, metrics, alerts, lines, pass, met }
}

function shown({ objectives }: ReturnType<typeof watching>, route = 'chat') {
  return objectives.list().find((one) => one.route === route)
}

test('a breach begins when more than one in twenty streams is later than the target', () => {
  const one = watching()
  one.met(50, 95)
  one.met(900, 5)
  assert.equal(one.alerts.length, 0)
  one.met(900, 1)
  const [alert, ...others] = one.alerts
  assert.deepEqual(others, [])
  const { p95_ms, ...rest } = alert as SloBreach
  assert.deepEqual(rest, {
    type: 'ttft_slo_breach',
    code: 'ERR_GW_TTFT_SLO_BREACH',
    route: 'chat',
    target_ms: 200,
    window_seconds: 100,
    samples: 101,
  })
  assert.ok(p95_ms >= 900 && p95_ms < 1000, `${p95_ms} ms`)
  assert.deepEqual(one.lines, [{ level: 'warn', event: 'slo', fields: { ...alert } }])
  assert.equal(one.metrics.sloBreaches.at('chat').value, 1)
})

test('a target that is just met is met, in every step of the histogram', () => {
  const one = watching()
  one.met(200, 1000)
  assert.equal(one.alerts.length, 0)
  assert.equal(shown(one)?.p95_ms, 200)
  const other = watching()
  other.met(200.1, SAMPLES_MIN)
  assert.equal(other.alerts.length, 1)
})

test('a breach is logged once while it lasts, and its end once', async () => {
  const one = watching()
  one.met(900, 500)
  for (let slice = 0; slice < 10; slice++) {
    one.pass(SLICE_MS)
    one.met(900, 10)
  }
  assert.equal(one.alerts.length, 1)
  for (let slice = 0; slice < 22; slice++) {
    one.pass(SLICE_MS)
    one.met(50, 10)
  }
  assert.equal(one.alerts.length, 1)
  assert.deepEqual(
    one.lines.map(({ level, fields }) => [level, fields.type]),
    [
      ['warn', 'ttft_slo_breach'],
      ['info', 'ttft_slo_recovery'],
    ],
  )
  assert.equal(shown(one)?.breached, false)
  one.met(900, 500)
  assert.equal(one.alerts.length, 2)
  assert.equal(one.metrics.sloBreaches.at('chat').value, 2)
})

test('a breach ends without new streams too, once the slow ones have left the window', async () => {
  const one = watching()
  one.met(900, SAMPLES_MIN)
  one.pass(95_000 - SLICE_MS)
  assert.equal(shown(one)?.breached, true)
  // A reading in between must not take the end away from the log.
  for (let passed = 0; passed < 3; passed++) {
    one.pass(SLICE_MS)
    await one.metrics.firstTokenP95.get()
  }
  assert.deepEqual(shown(one), {
    route: 'chat',
    p95_ms: null,
    target_ms: 200,
    window_seconds: 100,
    samples: 0,
    breached: false,
  })
  assert.equal(one.lines.length, 2)
  one.pass(10 ** 9)
  assert.equal(one.lines.length, 2)
})

test('an unstable objective is logged at most once a slice', () => {
  const one = watching()
  one.met(900, SAMPLES_MIN)
  for (let turn = 0; turn < 20; turn++) {
    one.met(50, 20 * 100)
    one.met(900, 200)
  }
  assert.equal(one.alerts.length, 1)
})

test('one slow stream of a few is no breach, and five of them are', () => {
  const one = watching()
  one.met(50, SAMPLES_MIN - 2)
  one.met(9000, 1)
  assert.equal(one.alerts.length, 0)
  const other = watching()
  other.met(9000, 4)
  other.met(50, 5)
  assert.equal(other.alerts.length, 0)
  other.met(9000, 1)
  assert.equal(other.alerts.length, 1)
})

test('a stream that ends without a token counts when it has waited longer than the target', () => {
  const one = watching()
  for (let index = 0; index < SAMPLES_MIN; index++) one.objectives.ended('chat', 199)
  assert.equal(shown(one)?.samples, 0)
  for (let index = 0; index < SAMPLES_MIN; index++) one.objectives.ended('chat', 30_000)
  assert.equal(one.alerts.length, 1)
})

test("a route's objective wins over the gateway's, and each route is judged separately", () => {
  const one = watching({ chat: undefined, slow: { ...TARGET, ttft_p95_ms: 5000 } }, TARGET)
  for (const route of ['chat', 'slow', 'unknown']) one.met(900, SAMPLES_MIN, route)
  assert.deepEqual(
    one.alerts.map(({ route }) => route),
    ['chat'],
  )
  assert.equal(shown(one, 'slow')?.target_ms, 5000)
  assert.equal(one.objectives.list().length, 2)
})

test('a changed objective starts again, an unchanged one continues, a removed one is not shown any more', async () => {
  const one = watching({ kept: TARGET, changed: TARGET, removed: TARGET })
  for (const route of ['kept', 'changed', 'removed']) one.met(900, SAMPLES_MIN, route)
  const changed = { ...TARGET, ttft_p95_ms: 300 }
  const routes = routesOf({ kept: { ...TARGET }, changed, removed: undefined })
  one.objectives.follow({ slo: undefined, routes })
  assert.deepEqual(
    one.objectives.list().map(({ route, samples }) => [route, samples]),
    [
      ['kept', SAMPLES_MIN],
      ['changed', 0],
    ],
  )
  const { values } = await one.metrics.firstTokenP95.get()
  assert.deepEqual(
    values.map(({ labels }) => labels.route),
    ['kept', 'changed'],
  )
})

test('every stream of a route with an objective counts as good or bad, exactly at its target', () => {
  const one = watching({ chat: TARGET, other: undefined })
  one.met(200, 7)
  one.met(200.1, 2)
  one.met(900, 5, 'other')
  one.objectives.ended('chat', 100)
  one.objectives.ended('chat', 900)
  const counted = [...one.metrics.sloRequests.entries()].map(([labels, { value }]) => ({
    ...labels,
    value,
  }))
  assert.deepEqual(counted, [
    { route: 'chat', slo: 'ttft', good: 'true', value: 7 },
    { route: 'chat', slo: 'ttft', good: 'false', value: 3 },
  ])
})
