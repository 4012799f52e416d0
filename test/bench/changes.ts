/**
 * Measures a safe change of a model under load: the delay that a shadow adds to real requests and who pays for it; how soon
 * a bad new upstream is out, and whether a good one takes over although the gateway restarts. Printed only: `node
 * test/bench/changes.ts [shadow|canary ...] [--seconds N]`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Front, failing, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import { interval } from './medians.ts'
import { PacedLoad } from './paced-load.ts'

const RATE = 200
const TURN_SECONDS = 4
const ANSWER_MS = 20
const args = process.argv.slice(2)
const secondsAt = args.indexOf('--seconds')
const SECONDS = secondsAt === -1 ? 80 : Number(args[secondsAt + 1])
const [old, fresh] = await Promise.all([startUpstream(), startUpstream()])
const folder = mkdtempSync(join(tmpdir(), 'gw-changes-'))

const answering = whole()
old.reply = async (outgoing, asked) => {
  await delay(ANSWER_MS)
  await answering(outgoing, asked)
}
const good = old.reply

const single = (name: string, more: object = {}) => ({
  name,
  strategy: 'single',
  primary: 'old',
  ...more,
})

async function start(routes: readonly object[], more: object = {}): Promise<Front> {
  return await startFront({
    upstreams: [
      { name: 'old', endpoint: old.url },
      { name: 'new', endpoint: fresh.url, model: 'gpt-4o' },
    ],
    routes,
    rate_limits: { default: PLENTY },
    ...more,
  })
}

function say(...row: readonly string[]): void {
  process.stdout.write(`| ${row.join(' | ')} |\n`)
}

async function measureShadow(): Promise<void> {
  fresh.reply = good
  const shadow = { upstream: 'new', percent: 10, tenant: 'shadow-eval' }
  const front = await start([single('plain'), single('copied', { shadow })])
  const load = new PacedLoad(front, RATE)
  await load.run('copied', TURN_SECONDS)
  const pairs: { added: number; plain: number }[] = []
  let failed = 0
  for (let turn = 0; turn * 2 * TURN_SECONDS < SECONDS; turn++) {
    // Both orders: a drift of the machine would else be counted as the shadow's.
    const order = turn % 2 === 0 ? ['plain', 'copied'] : ['copied', 'plain']
    const p99 = new Map<string, number>()
    for (const route of order) {
      const result = await load.run(route, TURN_SECONDS)
      failed += result.failed
      p99.set(route, result.p99)
    }
    const plain = p99.get('plain') ?? Number.NaN
    pairs.push({ plain, added: (p99.get('copied') ?? Number.NaN) - plain })
  }
  const { low, middle, high } = interval(pairs.map(({ added }) => added))
  const plain = interval(pairs.map((one) => one.plain)).middle
  const [{ copies }] = (await front.admin('/shadows')).shadows
  say(
    'shadow of 10 %: added to p99 of real requests',
    `${middle.toFixed(2)} ms (${low.toFixed(2)} to ${high.toFixed(2)}), ${((middle / plain) * 100).toFixed(1)} % of ${plain.toFixed(2)} ms; ${pairs.length} pairs of ${TURN_SECONDS} s`,
  )
  say('its copies', JSON.stringify(copies))
  const { rows } = await front.admin('/usage?by=tenant,upstream')
  const bills = rows as { by: { tenant: string; upstream: string }; requests: number }[]
  const text = bills.map(({ by, requests }) => `${by.tenant} at ${by.upstream}: ${requests}`)
  say('bills', text.join(', '))
  const strangers = bills.filter(
    ({ by }) => (by.upstream === 'new') !== (by.tenant === 'shadow-eval'),
  )
  say('bills of copies for another tenant; failed real requests', `${strangers.length}; ${failed}`)
  await front.process.stop()
}

const STEPS = { to: 'new', every: '5s', requests: 20 }

/** Bad from its first request: nothing is known of it yet, and it gets 2 requests a second. */
async function measureBad(): Promise<void> {
  fresh.reply = failing(500)
  const rollout = { ...STEPS, steps: [1, 5, 25, 50, 100], every: '10m' }
  const front = await start([single('chat', { rollout })])
  await until('the first step', async () => (await stateOf(front)).share > 0)
  const startedAt = performance.now()
  const result = await new PacedLoad(front, RATE).runUntil('chat', async () => {
    const { phase } = await stateOf(front)
    return phase === 'back' || performance.now() - startedAt > 120_000
  })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const { phase, reason } = await stateOf(front)
  const share = ((result.failed / result.count) * 100).toFixed(3)
  say('a bad canary at 1 %', `${phase} after ${seconds} s: ${reason}`)
  say('failed requests meanwhile', `${result.failed} of ${result.count} (${share} %)`)
  await front.process.stop()
}

async function measureGood(): Promise<void> {
  fresh.reply = good
  const rollout = { ...STEPS, steps: [1, 5, 25, 50, 100] }
  const routes = [single('chat', { rollout })]
  let front = await start(routes, { state_dir: folder })
  const startedAt = performance.now()
  const before = await new PacedLoad(front, RATE).runUntil('chat', async () => {
    return (await stateOf(front)).step >= 3
  })
  const { step } = await stateOf(front)
  await front.process.stop()
  front = await start(routes, { state_dir: folder })
  await delay(1500)
  const { step: again } = await stateOf(front)
  const after = await new PacedLoad(front, RATE).runUntil('chat', async () => {
    const { phase } = await stateOf(front)
    return phase !== 'running' || performance.now() - startedAt > 300_000
  })
  const { phase, share } = await stateOf(front)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  say('a good one', `${phase} at ${share} % after ${seconds} s, in steps of 5 s`)
  say('failed requests', `${before.failed + after.failed} of ${before.count + after.count}`)
  say('the step before and after a restart of the gateway', `${step}, ${again}`)
  await front.process.stop()
}

interface State {
  readonly phase: string
  readonly share: number
  readonly step: number
  readonly reason: string
}

async function stateOf(front: Front): Promise<State> {
  return (await front.admin('/rollouts')).rollouts[0]
}

try {
  say('measured', `${RATE} requests/s, answers of ${ANSWER_MS} ms`)
  say('---', '---')
  const chosen = args.filter((one) => one === 'shadow' || one === 'canary')
  if (chosen.length === 0 || chosen.includes('shadow')) await measureShadow()
  if (chosen.length === 0 || chosen.includes('canary')) {
    await measureBad()
    await measureGood()
  }
} finally {
  await Promise.all([old.close(), fresh.close()])
  rmSync(folder, { recursive: true })
}
