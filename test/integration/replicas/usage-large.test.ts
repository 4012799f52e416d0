/** A report over thirty days of five thousand rows each, while its gateway serves requests. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { UsageRollup } from '../../../dataplane/store/redis/usage-rollup.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace } from '../../../dataplane/telemetry/trace/fields.ts'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { recordResult } from '../../helpers/results.ts'
import { keysOf } from '../limits/limited-gateway.ts'
import { openLink } from '../redis/store-world.ts'
import { type Answer, Replicas } from './rig.ts'

const DAYS = 30
const ROWS = 5_000
const TENANTS = 50
const DAY_MS = 86_400_000
const AT_ONCE = 8
const REQUESTS = 400
const REPORTS = 2

const upstream = await startUpstream()
const replicas = await Replicas.start(
  1,
  { upstreams: [{ name: 'one', endpoint: upstream.url, model: 'm' }] },
  keysOf(['acme']),
)
after(async () => {
  await replicas.stop()
  await upstream.close()
})
const front = replicas.front(0, 'acme')

/** Each day as a replica wrote it at the time. */
async function writePastDays(): Promise<void> {
  const link = openLink(replicas.redis)
  const models = new Map([['one', { model: 'm' }]])
  const today = Date.now()
  for (let day = 1; day <= DAYS; day++) {
    const wall = today - day * DAY_MS
    const book = new UsageBook()
    const rollup = new UsageRollup({
      ...{ link, book, keyPrefix: 'gw', replica: `day-${day}` },
      isAway: () => false,
      clock: { now: () => 0, wall: () => wall },
      onForgotten: () => assert.fail(),
    })
    for (let row = 0; row < ROWS; row++) {
      const trace = newTrace('r', new Date(wall).toISOString(), 'POST', '/')
      const usage = { ...USED, cost_nano_usd: row }
      const attempts = [{ upstream: 'one', usage } as AttemptTrace]
      const [tenant, key] = [`t${row % TENANTS}`, `k${row}`]
      book.add(Object.assign(trace, { tenant, key, status: 200, attempts }), models)
    }
    await rollup.flush()
  }
  link.close()
}

const USED = {
  input_tokens: 7,
  cached_tokens: 0,
  cache_write_tokens: 0,
  cache_write_1h_tokens: 0,
  cache_gain_nano_usd: 0,
  cache_surcharge_nano_usd: 0,
  output_tokens: 3,
  reasoning_tokens: 0,
  estimated: false,
}

/** Sends requests until there are enough. */
async function load(isEnough: (answered: number) => boolean): Promise<Answer[]> {
  const answers: Answer[] = []
  const lane = async () => {
    while (!isEnough(answers.length)) answers.push(await replicas.ask(0, 'acme', {}))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  for (const { status } of answers) assert.equal(status, 200)
  return answers
}

function p99Of(answers: readonly Answer[]): number {
  const sorted = answers.map((one) => one.answeredAt - one.askedAt).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0
}

interface Row {
  readonly by: { readonly tenant: string }
  readonly requests: number
  readonly cost_nano_usd: number
}

/** Returns the duration. */
async function report(): Promise<number> {
  const begun = performance.now()
  const { rows, kept_in } = await front.admin(`/usage?by=tenant,model&hours=${(DAYS + 1) * 24}`)
  const ms = performance.now() - begun
  assert.equal(kept_in, 'redis')
  const past = (rows as Row[]).filter(({ by }) => by.tenant !== 'acme')
  assert.equal(past.length, TENANTS)
  const requests = past.reduce((sum, row) => sum + row.requests, 0)
  const cost = past.reduce((sum, row) => sum + row.cost_nano_usd, 0)
  assert.deepEqual([requests, cost], [DAYS * ROWS, (DAYS * ROWS * (ROWS - 1)) / 2])
  return ms
}

interface Compared {
  readonly alone: number
  readonly during: number
}

/** The time of requests alone, and during consecutive reports. */
async function compared(): Promise<Compared> {
  const alone = p99Of(await load((answered) => answered >= REQUESTS))
  let isOver = false
  const meanwhile = load(() => isOver)
  for (let reports = 0; reports < REPORTS; reports++) await report()
  isOver = true
  return { alone, during: p99Of(await meanwhile) }
}

test('a report has every row, and requests are answered meanwhile', async () => {
  await writePastDays()
  await load((answered) => answered >= REQUESTS / 2)
  await report()
  const ms = await report()
  const { alone, during } = await compared()
  const times = `${ms.toFixed(0)} ms; p99 ${alone.toFixed(0)} ms before, ${during.toFixed(0)} ms meanwhile`
  recordResult('report', times, `${DAYS} days of ${ROWS} rows`)
})
