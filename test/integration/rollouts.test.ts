/** A new upstream takes over a route by steps, or goes back by itself, under load with streams. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Front,
  failing,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { gw as tool } from '../helpers/gw-here.ts'
import { startRedis } from '../helpers/redis-server.ts'
import { until } from '../helpers/until.ts'

const [old, fresh] = await Promise.all([startUpstream(), startUpstream()])
const redis = await startRedis()
const fronts: Front[] = []
after(async () => {
  await Promise.all(fronts.map(({ process }) => process.stop()))
  await Promise.all([old.close(), fresh.close(), redis.stop()])
})

const answering: Reply = (outgoing, asked) =>
  (asked.body.stream === true ? streaming() : whole())(outgoing, asked)

interface Rollout {
  readonly phase: string
  readonly share: number
  readonly step: number
  readonly reason: string
}

const rolloutOf = async (front: Front): Promise<Rollout> =>
  (await front.admin('/rollouts')).rollouts[0]

async function start(rollout: object, gw: object = {}, env: Record<string, string> = {}) {
  old.reply = answering
  fresh.reply = answering
  for (const upstream of [old, fresh]) upstream.asked.length = 0
  const front = await startFront(
    {
      upstreams: [
        { name: 'old', endpoint: old.url },
        { name: 'new', endpoint: fresh.url, model: 'gpt-4o' },
      ],
      routes: [
        { name: 'chat', strategy: 'single', primary: 'old', rollout: { to: 'new', ...rollout } },
      ],
      ...gw,
    },
    { env },
  )
  fronts.push(front)
  await until('the first step', async () => (await rolloutOf(front)).share > 0)
  return front
}

/** Asks some at a time until `isOver`; returns the statuses other than 200, and the number of requests. */
async function load(front: Front, isOver: () => Promise<boolean>) {
  const bad: string[] = []
  let [count, over] = [0, false]
  const one = async (worker: number) => {
    while (!over) {
      count++
      const session = { 'x-session-id': `s-${count}` }
      const heard = await front
        .ask({ stream: worker % 2 === 0 }, session)
        .over.catch((error: Error) => ({ status: 0, cut: true, text: error.message }))
      if (heard.status !== 200 || heard.cut) bad.push(`${heard.status} ${heard.text}`)
    }
  }
  const workers = Array.from({ length: 8 }, (_, worker) => one(worker))
  await until('the end of the rollout', isOver).finally(() => {
    over = true
  })
  await Promise.all(workers)
  return { bad, count }
}

function isIn(front: Front, ...phases: string[]) {
  return async () => phases.includes((await rolloutOf(front)).phase)
}

const QUICK = { steps: [10, 50, 100], every: '1s', requests: 20 }

test('a good new upstream reaches all requests by itself, and no request fails', async () => {
  const front = await start(QUICK)
  const { bad } = await load(front, isIn(front, 'complete', 'back'))
  assert.deepEqual(bad, [])
  const { phase, share } = await rolloutOf(front)
  assert.deepEqual([phase, share], ['complete', 100])
  const before = old.asked.length
  assert.equal((await front.chat()).status, 200)
  assert.equal(old.asked.length, before)
  assert.equal(await front.value('gw_rollout_share_percent{route="chat"}'), 100)
})

const FAULTS: [string, Reply][] = [
  ['answers with 500', failing(500)],
  ['refuses every request', failing(400)],
  ['breaks the connection', (outgoing) => void outgoing.destroy()],
]
for (const [fault, reply] of FAULTS) {
  test(`a new upstream that ${fault} is out, and clients get the answers of the old one`, async () => {
    const front = await start({ ...QUICK, steps: [20, 100] })
    fresh.reply = reply
    const { bad } = await load(front, isIn(front, 'complete', 'back'))
    assert.deepEqual(bad, [])
    const { phase, share, reason } = await rolloutOf(front)
    assert.deepEqual([phase, share], ['back', 0])
    assert.match(reason, /^failed requests .* instead of 0 %, with \+1 % allowed, at 20 %/)
    const backs = 'gw_rollout_backs_total{route="chat",why="errors"}'
    assert.equal(await front.value(backs), 1)
    await until('the event', () => front.logged('rollout').at(-1)?.phase === 'back')
    const before = fresh.asked.length
    for (let count = 0; count < 30; count++) await front.chat()
    assert.equal(fresh.asked.length, before)
  })
}

test('a conversation stays on its side while the share stays, and once it is on the new side', async () => {
  const front = await start({ ...QUICK, steps: [30, 100], requests: 1_000_000 })
  const sides = async (session: string) => {
    const answers = []
    for (let turn = 0; turn < 3; turn++)
      answers.push(await front.ask({}, { 'x-session-id': session }).over)
    return new Set(answers.map(({ headers }) => headers['x-gw-upstream']))
  }
  const seen = new Set<unknown>()
  for (let session = 0; session < 30; session++) {
    const sidesOfOne = await sides(`session-${session}`)
    assert.equal(sidesOfOne.size, 1)
    for (const side of sidesOfOne) seen.add(side)
  }
  assert.deepEqual(seen, new Set(['old', 'new']))
})

test('a person pauses, promotes and aborts a rollout', async () => {
  const front = await start({ ...QUICK, every: '1h' })
  const { adminUrl, adminHeaders } = front.process
  const act = async (action: string) => {
    const options = { method: 'POST', headers: adminHeaders }
    const answer = await fetch(`${adminUrl}/rollouts/chat?action=${action}`, options)
    return { status: answer.status, ...((await answer.json()) as Partial<Rollout>) }
  }
  const figures = ({ status, phase, share }: Awaited<ReturnType<typeof act>>) => [
    status,
    phase,
    share,
  ]
  assert.deepEqual(figures(await act('pause')), [200, 'paused', 10])
  assert.deepEqual(figures(await act('promote')), [200, 'complete', 100])
  assert.equal((await front.chat()).headers['x-gw-upstream'], 'new')
  assert.deepEqual(figures(await act('abort')), [200, 'aborted', 0])
  assert.equal((await front.chat()).headers['x-gw-upstream'], 'old')
  assert.deepEqual(figures(await act('resume')), [200, 'running', 10])
  assert.equal((await act('fly')).status, 400)
})

test('pods share step and counts: one is killed in the middle, and the others end the rollout', async () => {
  const shared = { backend: 'redis', redis: { url: `unix://${redis.socket}` } }
  const gw = { rate_limits: { default: PLENTY, ...shared } }
  const first = await start({ ...QUICK, steps: [10, 30, 60, 100] }, gw)
  const second = await start({ ...QUICK, steps: [10, 30, 60, 100] }, gw)
  let isKilled = false
  const isOver = async () => {
    const { step, phase } = await rolloutOf(second)
    if (step > 1 && !isKilled) {
      isKilled = true
      first.process.signal('SIGKILL')
    }
    return phase === 'complete' || phase === 'back'
  }
  const { bad } = await load(second, isOver)
  assert.deepEqual(bad, [])
  assert.equal((await rolloutOf(second)).phase, 'complete')
  const third = await start({ ...QUICK, steps: [10, 30, 60, 100] }, gw)
  await until('the shared state', async () => (await rolloutOf(third)).phase === 'complete')
})

test('gw explain names the new upstream, its share and the side of a tenant, and the shadow', async () => {
  const shadow = { upstream: 'new', percent: 25, tenant: 'shadow-eval' }
  const routes = [
    {
      name: 'chat',
      strategy: 'single',
      primary: 'old',
      rollout: { to: 'new', ...QUICK, every: '1h' },
    },
    {
      name: 'mine',
      ...{ strategy: 'single', primary: 'old' },
      rollout: { to: 'new', steps: [40, 100], every: '1h', sticky: 'tenant' },
    },
    { name: 'copied', strategy: 'single', primary: 'old', shadow },
  ]
  const teams = Array.from({ length: 20 }, (_, count) => `team-${count}`)
  const tenants = teams.map((tenant) => ({ tenant, requests_per_minute: 60 }))
  const front = await start(QUICK, { routes, rate_limits: { default: PLENTY, tenants } })
  const explained = async (...args: readonly string[]) =>
    (await tool('explain', '--admin', front.process.adminUrl, '--route', ...args)).stdout
  const text = await explained('chat')
  assert.match(text, /rollout: new gets 10 %, 50 %, 100 % of requests, by session, a step every 1h/)
  assert.match(text, /rollout to new: running, 10 %, step 1 of 3; 10 % of requests take new first/)
  const sides = new Set<string>()
  for (const tenant of teams) {
    const said = await explained('mine', '--tenant', tenant)
    sides.add(/this request takes (?:new first|the others)/.exec(said)?.[0] ?? said)
  }
  const both = ['this request takes new first', 'this request takes the others']
  assert.deepEqual([...sides].sort(), both)
  const copied = await explained('copied')
  assert.match(copied, /shadow: 25 % of requests are copied to new, charged to tenant shadow-eval/)
  assert.match(copied, /shadow: 25 % of requests are copied to new for tenant shadow-eval/)
})
