/**
 * Over real sockets, with several processes and one Redis: what disconnected clients and killed
 * processes leave.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { event, type Reply, startUpstream } from '../../helpers/fake-upstream.ts'
import { aRandom } from '../../helpers/random.ts'
import { recordResult } from '../../helpers/results.ts'
import { until } from '../../helpers/until.ts'
import { keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

const ABORTS = 2000
const AT_ONCE = 50
const STREAMS = 50
/** Enough that slices cover most streams. */
const SLOTS = 5000
const WORD_MS = 100
/** More than two heartbeats, and long enough that slices have nothing idle any more. */
const RUN_MS = 16_000
const LATE_S = 3

/** Words that the upstream has written, by the stream's number. */
const written: number[] = []

/** Drips words while a client reads, and never reports its usage. */
const drip: Reply = async (outgoing, asked) => {
  const index = Number(/stream-(\d+)/.exec(JSON.stringify(asked.body.messages))?.[1] ?? -1)
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  while (!outgoing.destroyed) {
    outgoing.write(
      event({ choices: [{ index: 0, delta: { content: 'w ' }, finish_reason: null }] }),
    )
    if (index >= 0) written[index] = (written[index] ?? 0) + 1
    await delay(index >= 0 ? WORD_MS : 1)
  }
}

const upstream = await startUpstream(drip)
const BUDGET = { tokens_per_day: 1_000_000_000, spend_per_month_usd: 1_000_000 }
const replicas = await Replicas.start(
  3,
  {
    upstreams: [{ name: 'up', endpoint: upstream.url, timeout_seconds: 100 }],
    rate_limits: { tenants: [{ tenant: 'killed', concurrent_requests: SLOTS }] },
    budgets: [
      { tenant: 'leaving', ...BUDGET },
      { tenant: 'killed', ...BUDGET },
    ],
    pricing: [{ model: 'served', input: 10, output: 20 }],
  },
  keysOf(['leaving', 'killed']),
)
after(() => Promise.all([replicas.stop(), upstream.close()]))

test(`${ABORTS} clients that disconnect at random moments leave no slot and no hold`, async () => {
  const random = aRandom(20_261_121)
  let begun = 0
  const client = async () => {
    while (begun < ABORTS) {
      const asking = replicas.front(begun++, 'leaving').ask({ stream: true, max_tokens: 100 })
      asking.head.catch(() => {})
      // Some wait for the answer and disconnect in the middle of it.
      if (random(3) === 0) await asking.head.catch(() => {})
      await delay(random(20))
      asking.leave()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  await untilIdle(replicas.front(0, 'leaving'), 'leaving')
  const stands = await standing(replicas.front(1, 'leaving'), 'leaving')
  const { concurrent_requests: slots, tokens_per_day: day } = stands
  recordResult('aborts', `${slots.used} slots, ${day.reserved} tokens held`, `${ABORTS} aborts`)
  assert.deepEqual([slots.used, day.reserved], [0, 0])
})

test('a killed process with 50 open streams releases its slots and is charged up to its last heartbeat', async () => {
  written.length = 0
  const victim = replicas.front(0, 'killed')
  const questions = Array.from({ length: STREAMS }, (_, index) => ({
    model: 'chat',
    messages: [{ role: 'user', content: `stream-${index}` }],
    stream: true,
    max_tokens: 10_000,
  }))
  const streams: ReturnType<typeof victim.ask>[] = []
  for (const question of questions) {
    const stream = victim.ask(question)
    streams.push(stream)
    await stream.head
  }
  // Without usage a prompt is charged by estimate: "stream", a mark, the number, and four around
  // the message.
  const prompts = questions.length * 7
  for (const { over } of streams) over.catch(() => {})
  const shortest = () => Math.min(...Array.from({ length: STREAMS }, (_, at) => written[at] ?? 0))
  // Long enough that a missing heartbeat would exceed the allowance by far.
  await until('all streams have run for a while', () => shortest() * WORD_MS > RUN_MS, 120)
  const survivor = replicas.front(1, 'killed')
  assert.equal((await standing(survivor, 'killed')).concurrent_requests.used, STREAMS)
  victim.process.signal('SIGKILL')
  const killedAt = performance.now()
  const words = written.reduce((sum, count) => sum + count, 0)
  await victim.process.exited
  // The time of the last check when the slots were not free: this process's own delay is not the
  // store's.
  let takenAt = killedAt
  await until(
    'every slot is free',
    async () => {
      const askedAt = performance.now()
      const { used } = (await standing(survivor, 'killed')).concurrent_requests
      if (used > 0) takenAt = askedAt
      return used === 0
    },
    60,
  )
  const seconds = (takenAt - killedAt) / 1000
  const { tokens_per_day: day } = await standing(survivor, 'killed')
  // A beat every five seconds, observed by a timer of a tenth; a busy machine may be slightly
  // later.
  const missable = ((5 + 0.1 + LATE_S) * 1000 * STREAMS) / WORD_MS
  const missing = prompts + words - day.used
  const lost = missing / STREAMS / (1000 / WORD_MS)
  recordResult(
    'killed',
    `slots free after ${seconds.toFixed(1)} s, spend right to ${lost.toFixed(1)} s`,
    `${words} words by then`,
  )
  assert.equal(day.reserved, 0)
  assert.ok(missing >= 0, `${-missing} tokens were charged that no request has used`)
  assert.ok(missing <= missable, `${missing} words are missing, ${missable} are allowed`)
  assert.ok(seconds <= 16, `slots were free after ${seconds} s`)
})
