/** A gateway with a state_dir keeps all its state after SIGTERM, and nearly all after kill -9. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { type Front, startUpstream, streaming, whole } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import {
  ANSWER_TOKENS,
  assertSpent,
  keysOf,
  type Limited,
  PRICES,
  standing,
  startLimited,
} from './limits/limited-gateway.ts'

/**
 * A settlement is on disk after 250 ms between writes and 100 ms of the timer; the rest allows for
 * a slow machine.
 */
const BATCH_MS = 350
const SLACK_MS = 2500

const KILLED = 300

const upstream = await startUpstream()
const folder = await mkdtemp(join(tmpdir(), 'gw-state-'))
const keys = keysOf(['acme', 'storm', 'stream'])
const running = new Set<Limited>()
after(async () => {
  await Promise.all([...running].map((gateway) => gateway.stop()))
  await upstream.close()
  await rm(folder, { recursive: true })
})

async function start(state_dir: string): Promise<Limited> {
  const budget = { tokens_per_day: 20_000, spend_per_month_usd: 100 }
  const gateway = await startLimited(
    {
      gateway: { drain_timeout_seconds: 1 },
      upstreams: [{ name: 'up', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
      rate_limits: { default: PLENTY },
      budgets: [
        { tenant: 'acme', ...budget, tokens_per_day: 50, alert_thresholds: [0.1, 0.8] },
        { tenant: 'storm', ...budget },
        { tenant: 'stream', ...budget },
      ],
      pricing: PRICES,
      state_dir,
    },
    keys,
  )
  running.add(gateway)
  return gateway
}

async function end(gateway: Limited, signal: NodeJS.Signals): Promise<void> {
  const { process } = gateway.as('acme')
  process.signal(signal)
  await process.exited
  running.delete(gateway)
}

async function used(front: Front, tenant: string): Promise<number> {
  return (await standing(front, tenant)).tokens_per_day.used
}

test('SIGTERM loses nothing: caps, windows and sent alerts are restored at the next start', async () => {
  const stateDir = join(folder, 'term')
  const first = await start(stateDir)
  const front = first.as('acme')
  for (let asked = 0; asked < 4; asked++) assert.equal((await front.chat()).status, 200)
  await end(first, 'SIGTERM')
  const second = await start(stateDir)
  const again = second.as('acme')
  const { tokens_per_day, spend_per_month_usd } = await standing(again, 'acme')
  assert.equal(tokens_per_day.used, 4 * ANSWER_TOKENS)
  assert.equal(spend_per_month_usd.used, '0.00052')
  assert.equal((await again.chat()).status, 200)
  assertSpent(await again.chat(), 'budget_tokens')
  const alerts = [...(await again.series())].filter(
    ([name, count]) => name.startsWith('gw_budget_alerts_total{') && count > 0,
  )
  assert.deepEqual(alerts, [], 'no threshold is reported twice')
  await end(second, 'SIGTERM')
})

test('SIGTERM during streams: their usage until the cut is restored at the next start', async () => {
  const stateDir = join(folder, 'drain')
  const first = await start(stateDir)
  const front = first.as('stream')
  upstream.script.push(streaming({ hold: new Promise(() => {}) }), streaming())
  const cut = front.ask({ stream: true })
  await until('the first word arrives', () => cut.text().includes('hel'))
  assert.equal((await front.stream()).status, 200)
  await end(first, 'SIGTERM')
  assert.match((await cut.over).text, /ERR_GW_STREAM_ABORTED/)
  const second = await start(stateDir)
  // One word of prompt with the template around it, and one word of answer.
  assert.equal(await used(second.as('stream'), 'stream'), ANSWER_TOKENS + 5 + 1)
  await end(second, 'SIGTERM')
})

test('kill -9 during 300 requests: all answered requests are settled, except the last batch', async (context) => {
  const stateDir = join(folder, 'kill')
  const first = await start(stateDir)
  const front = first.as('storm')
  upstream.reply = async (outgoing, asked) => {
    await new Promise((resolve) => setTimeout(resolve, 80))
    await whole()(outgoing, asked)
  }
  const answeredAt: number[] = []
  let begun = 0
  const client = async () => {
    while (begun < KILLED * 4) {
      begun++
      const answer = await front.chat({ max_tokens: 3 }).catch(() => undefined)
      if (answer?.status !== 200) return
      answeredAt.push(performance.now())
    }
  }
  const clients = Array.from({ length: 8 }, client)
  const long = BATCH_MS + SLACK_MS
  await until('300 requests are answered, some of them long ago', () => {
    return answeredAt.length >= KILLED && performance.now() - (answeredAt[0] ?? 0) > 2 * long
  })
  const killedAt = performance.now()
  await end(first, 'SIGKILL')
  await Promise.all(clients)
  upstream.reply = whole()
  const second = await start(stateDir)
  const settled = (await used(second.as('storm'), 'storm')) / ANSWER_TOKENS
  const safe = answeredAt.filter((at) => at < killedAt - long).length
  context.diagnostic(
    `${begun} sent, ${answeredAt.length} answered, ${safe} of them before the last batch, ${settled} settled`,
  )
  assert.ok(safe > 0 && settled >= safe, `${settled} settled, ${safe} answered in time`)
  assert.ok(settled <= begun, `${settled} settled of ${begun} asked`)
  const { concurrent_requests, tokens_per_day } = await standing(second.as('storm'), 'storm')
  assert.deepEqual([concurrent_requests.used, tokens_per_day.reserved], [0, 0])
  await end(second, 'SIGTERM')
})

/** One line that states the problem and the fix, and exit code 1. */
async function assertRefuses(stateDir: string, says: RegExp): Promise<void> {
  const refused = await start(stateDir).then(
    () => assert.fail('it started'),
    (error: Error) => error,
  )
  assert.match(String((refused as Error).cause), /exited with 1/)
  const complaints = refused.message.split('\n').filter((line) => line.startsWith('error: '))
  assert.equal(complaints.length, 1, refused.message)
  assert.match(complaints[0] ?? '', says)
  assert.doesNotMatch(refused.message, /\n\s+at /, 'no stack')
}

test('a second gateway on the same state_dir is refused, and the first keeps running', async () => {
  const stateDir = join(folder, 'shared')
  const first = await start(stateDir)
  await assertRefuses(stateDir, /state_dir .* is in use by another gateway; .*its own state_dir$/)
  assert.equal((await first.as('storm').chat()).status, 200)
  await end(first, 'SIGKILL')
  await end(await start(stateDir), 'SIGTERM')
})

test('an unusable state_dir stops the start with one sentence', async () => {
  const file = join(folder, 'file')
  await writeFile(file, 'not a folder')
  await assertRefuses(file, /state_dir .* cannot be written .*; give a folder/)
  await assertRefuses(join(file, 'below'), /state_dir .*below cannot be written .*; give a folder/)
  // Creating a folder there fails as if its parent were missing, although it exists.
  await assertRefuses('/proc/gw', /state_dir \/proc\/gw cannot be written .*; give a folder/)
  await assertRefuses('/proc/gw/below', /state_dir \/proc\/gw\/below cannot be .*; give a folder/)
})

test("a relative state_dir is resolved from the configuration's folder", async () => {
  const gateway = await start('state/below')
  const { configFile } = gateway.as('acme').process
  const names = await readdir(join(dirname(configFile), 'state', 'below'))
  assert.ok(names.includes('budgets.sqlite'), names.join())
  await end(gateway, 'SIGTERM')
})
