/** `fail_open: false` while Redis does not answer for five seconds under load: no request that slices cover is refused. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { cases } from '../../helpers/cases.ts'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { recordResult } from '../../helpers/results.ts'
import { until } from '../../helpers/until.ts'
import { untilCovered } from '../limits/idle-slices.ts'
import { ANSWER_TOKENS, keysOf, standing } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

const PROCESSES = 3
const PER_SECOND = cases(100, 1000)
const AWAY_MS = 5_000

/** Each process has room for its part, and for all that come in a second in which it or its upstream pauses. */
const ROOM = { requests: (1.5 * PER_SECOND * AWAY_MS) / 1000 / PROCESSES, slots: PER_SECOND }

/** All of them may be at one process. */
const AT_ONCE = ROOM.slots

const upstream = await startUpstream()
const replicas = await Replicas.start(
  PROCESSES,
  {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    rate_limits: {
      redis: { timeout_ms: 1000, fail_open: false },
      default: { requests_per_minute: 100, burst: 1_000_000, concurrent_requests: 1_000_000 },
    },
    budgets: [{ tenant: 'steady', tokens_per_day: 1_000_000_000 }],
  },
  keysOf(['steady']),
)
after(() => Promise.all([replicas.stop(), upstream.close()]))

function ask(index: number) {
  return replicas.ask(index, 'steady', { max_tokens: 5 })
}

/** Asks at a steady pace, late timers made up for as far as slots are free; returns how many were answered with each status. */
async function steadily(forMs: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const answers: Promise<void>[] = []
  let running = 0
  const began = performance.now()
  while (performance.now() - began < forMs) {
    const due = ((performance.now() - began) * PER_SECOND) / 1000
    while (answers.length < due && running < AT_ONCE) {
      running++
      answers.push(
        ask(answers.length).then(({ status }) => {
          running--
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }),
      )
    }
    await delay(5)
  }
  await Promise.all(answers)
  return statuses
}

test(`a store that is frozen for ${AWAY_MS / 1000} s under load refuses no request that slices cover`, async (context) => {
  const together = () =>
    Promise.all(Array.from({ length: PROCESSES * PER_SECOND }, (_, at) => ask(at)))
  await untilCovered(replicas.fronts, ROOM, together)
  replicas.redis.signal('SIGSTOP')
  const statuses = await steadily(AWAY_MS)
  replicas.redis.signal('SIGCONT')
  const shown = JSON.stringify(Object.fromEntries(statuses))
  context.diagnostic(shown)
  recordResult('slices', shown, `${PER_SECOND} requests/s over 3 processes`)
  assert.deepEqual([...statuses.keys()], [200])
  const used = upstream.asked.length * ANSWER_TOKENS
  await until('the store has all that was used', async () => {
    const { tokens_per_day: day } = await standing(replicas.front(0, 'steady'), 'steady')
    return day.used === used
  })
})
