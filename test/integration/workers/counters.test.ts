/** Counters over three processes without Redis: exact, also while a worker is killed, and kept in state_dir. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, standing, startLimited } from '../limits/limited-gateway.ts'
import { Storm } from '../replicas/storm.ts'
import { untilAllServe, workersOf } from './rig.ts'

/** Slices are a part of the larger counters only. */
const RATES = [250, 1_500]
const BUDGETS = [3_000, 15_000]
const FAULTS = ['calm', 'killed'] as const

const stateDir = await mkdtemp(join(tmpdir(), 'gw-workers-'))
const upstream = await startUpstream()
const rateOf = (fault: string, burst: number) => `rate-${burst}-${fault}`
const budgetOf = (fault: string, cap: number) => `budget-${cap}-${fault}`
const keys = keysOf(
  FAULTS.flatMap((fault) => [
    ...RATES.map((burst) => rateOf(fault, burst)),
    ...BUDGETS.map((cap) => budgetOf(fault, cap)),
  ]),
)
const start = () =>
  startLimited(
    {
      gateway: { workers: 3 },
      state_dir: stateDir,
      upstreams: [{ name: 'up', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
      rate_limits: {
        default: { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 500 },
        tenants: FAULTS.flatMap((fault) =>
          RATES.map((burst) => ({
            tenant: rateOf(fault, burst),
            ...{ requests_per_minute: 1, burst, concurrent_requests: 500 },
          })),
        ),
      },
      budgets: FAULTS.flatMap((fault) =>
        BUDGETS.map((cap) => ({ tenant: budgetOf(fault, cap), tokens_per_day: cap })),
      ),
    },
    keys,
  )
let gateway = await start()
after(async () => {
  await gateway.stop()
  await upstream.close()
  await rm(stateDir, { recursive: true })
})
await untilAllServe(gateway.as('any'))

/** Each request has its own connection; one that a killed worker cut counts as one that may have been admitted. */
const clients = {
  cut: 0,
  async ask(_index: number, tenant: string, fields: object) {
    const askedAt = performance.now()
    const heard = await gateway
      .as(tenant)
      .ask({ ...fields })
      .over.catch(() => undefined)
    if (heard === undefined || heard.cut) this.cut++
    const { status = 503, headers = {}, text = '' } = heard ?? {}
    return { status: status || 503, headers, text, askedAt, answeredAt: performance.now() }
  },
}

for (const fault of FAULTS) {
  test(`${fault}: a counter admits what it has room for, and a budget one request more`, async (context) => {
    const rates = RATES.map((room) => new Storm(clients, { tenant: rateOf(fault, room), room }))
    const budgets = BUDGETS.map(
      (cap) => new Storm(clients, { tenant: budgetOf(fault, cap), room: cap / ANSWER_TOKENS }),
    )
    const storms = [...rates, ...budgets]
    clients.cut = 0
    const began = performance.now()
    await Promise.all(storms.map((storm) => storm.rise(0.4 * storm.counter.room)))
    // A killed worker takes the rest of its slices with it, until these expire.
    const share = fault === 'killed' ? 0.9 : 1
    const fills = storms.map((storm) => storm.fill(share * storm.counter.room - 1))
    if (fault === 'killed') {
      const [worker] = await workersOf(gateway.as('any'))
      process.kill(worker?.pid ?? 0, 'SIGKILL')
    }
    await Promise.all(fills)
    const leaked = Math.ceil((performance.now() - began) / 60_000)
    for (const { counter, admitted, needless, statuses } of storms) {
      const shown = JSON.stringify(Object.fromEntries(statuses))
      context.diagnostic(
        `${counter.tenant}: ${admitted} of ${counter.room}, ${needless} needless, ${shown}, ${clients.cut} cut`,
      )
    }
    for (const { admitted, counter } of rates) {
      assert.ok(admitted <= counter.room + leaked, `${admitted} of ${counter.room}`)
      if (fault === 'calm')
        assert.ok(admitted >= counter.room - 1, `${admitted} of ${counter.room}`)
    }
    for (const { admitted, counter } of budgets)
      assert.ok(admitted <= counter.room + 1, `${admitted} of ${counter.room}`)
    if (fault !== 'calm') return
    for (const { admitted, counter } of budgets)
      await until(`the store has what ${counter.tenant} used`, async () => {
        const { tokens_per_day: day } = await standing(gateway.as(counter.tenant), counter.tenant)
        return day.used === admitted * ANSWER_TOKENS
      })
  })
}

test('a budget is as spent after a restart as before it', async () => {
  const tenant = budgetOf('calm', 3_000)
  const spent = async () => (await standing(gateway.as(tenant), tenant)).tokens_per_day.used
  const before = await spent()
  assert.ok(before >= 3_000)
  await gateway.stop()
  gateway = await start()
  assert.equal(await spent(), before)
  assert.equal((await gateway.as(tenant).chat()).status, 402)
})

test('a gateway of one process does not read these counters, and says so', async () => {
  await gateway.stop()
  const alone = await startLimited(
    {
      state_dir: stateDir,
      upstreams: [{ name: 'up', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    },
    keys,
  )
  const said = JSON.stringify(alone.as('any').logged('store'))
  await alone.stop()
  assert.match(said, /Counters begin anew: those of counters\.sqlite/)
})
