import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alertOf, type BudgetAlert, reachedThresholds } from '../../../dataplane/accounts/alerts.ts'
import type { Post } from '../../../dataplane/connection/post.ts'
import { AlertWebhook, type Drop } from '../../../dataplane/limits/alerts/webhook.ts'
import { aClock } from '../../helpers/clock.ts'
import { aBudget } from '../../helpers/store/world.ts'

test('a threshold is reached at its fraction of the cap, and reported only once', () => {
  const rows: readonly [
    thresholds: number[],
    used: number,
    limit: number,
    reported: number[],
    expected: number[],
  ][] = [
    [[0.5, 0.8, 0.95], 49, 100, [], []],
    [[0.5, 0.8, 0.95], 50, 100, [], [0.5]],
    [[0.5, 0.8, 0.95], 1000, 100, [], [0.5, 0.8, 0.95]],
    [[0.5, 0.8, 0.95], 90, 100, [0.5], [0.8]],
    [[0.5, 0.8, 0.95], 90, 100, [0.5, 0.8], []],
    [[0.5], 90, 100, [0.8], [0.5]],
    [[0, 1], 0, 100, [], [0]],
    [[0, 1], 100, 100, [0], [1]],
    [[], 100, 100, [], []],
  ]
  for (const [alertThresholds, used, limit, reported, expected] of rows) {
    const budget = aBudget({ alertThresholds })
    assert.deepEqual(reachedThresholds(budget, { used, limit }, reported), expected)
  }
})

test('every whole percent is reached at exactly that many of a hundred', () => {
  for (let percent = 1; percent <= 100; percent++) {
    const budget = aBudget({ alertThresholds: [Number(`${percent}e-2`)] })
    const reached = (used: number) => reachedThresholds(budget, { used, limit: 100 }, []).length
    assert.deepEqual([reached(percent - 1), reached(percent)], [0, 1], `${percent} %`)
  }
})

test('an alert has the promised content', () => {
  const about = { tenant: 'acme', threshold: 0.5, resetsAt: Date.parse('2026-12-01') }
  const tokens = { ...about, kind: 'tokens', window: 'day', used: 612, limit: 1000 } as const
  const spend = {
    ...about,
    kind: 'spend',
    window: 'month',
    used: 6_500_000_000,
    limit: 1e10,
  } as const
  const shared = { type: 'budget_alert', tenant: 'acme', threshold: 0.5 }
  const resets_at = '2026-12-01T00:00:00.000Z'
  assert.deepEqual(alertOf(tokens), {
    ...shared,
    kind: 'tokens',
    window: 'day',
    used: 612,
    limit: 1000,
    resets_at,
  })
  assert.deepEqual(alertOf(spend), {
    ...shared,
    kind: 'spend',
    window: 'month',
    used: 6.5,
    limit: 10,
    resets_at,
  })
})

function anAlert(threshold = 0.5): BudgetAlert {
  const crossing = { kind: 'tokens', window: 'day', used: 1, limit: 2, resetsAt: 0 } as const
  return alertOf({ ...crossing, tenant: 'acme', threshold })
}

/** A webhook whose posts end on the test's command. */
function aWebhook() {
  const clock = aClock()
  const posts: { url: string; body: BudgetAlert; headers: Readonly<Record<string, string>> }[] = []
  const dropped: string[] = []
  const reasons: string[] = []
  let answer: (taken: boolean | Error) => void = () => {}
  const post: Post = (url, body, headers) => {
    posts.push({ url, body: JSON.parse(body), headers })
    return new Promise((resolve, reject) => {
      answer = (taken) => {
        if (taken instanceof Error) reject(taken)
        else resolve(taken ? undefined : 503)
      }
    })
  }
  const onDrop = ({ reason, origin, why }: Drop) => {
    dropped.push(reason)
    reasons.push(`${origin}: ${why}`)
  }
  const webhook = new AlertWebhook({ post, clock, random: () => 1, onDrop })
  return {
    clock,
    posts,
    dropped,
    reasons,
    webhook,
    send: (threshold?: number) =>
      webhook.send(anAlert(threshold), 'http://hook/secret', { 'x-key': 'k' }),
    async answers(taken: boolean | Error) {
      answer(taken)
      await new Promise(setImmediate)
    },
    /** Advances the clock to the next call of the webhook. */
    async wakes() {
      clock.pass(webhook.due - clock.now())
      webhook.expire()
      await new Promise(setImmediate)
    },
  }
}

test('alerts are delivered one after the other, in order', async () => {
  const { webhook, posts, send, answers } = aWebhook()
  for (const threshold of [0.1, 0.2, 0.3]) send(threshold)
  assert.equal(posts.length, 1)
  for (let index = 0; index < 3; index++) await answers(true)
  assert.deepEqual(
    posts.map(({ body }) => body.threshold),
    [0.1, 0.2, 0.3],
  )
  assert.deepEqual(posts[0]?.headers, { 'content-type': 'application/json', 'x-key': 'k' })
  assert.deepEqual([webhook.waiting, webhook.due], [0, Number.POSITIVE_INFINITY])
})

test('a refusal, an error and silence are retried with growing waits, five times in all', async () => {
  const { webhook, clock, posts, dropped, send, answers, wakes } = aWebhook()
  send()
  const waits: number[] = []
  for (const taken of [false, new Error('reset'), false, false] as const) {
    await answers(taken)
    waits.push(webhook.due - clock.now())
    await wakes()
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000])
  assert.deepEqual(dropped, [])
  await wakes()
  assert.deepEqual([posts.length, dropped, webhook.waiting], [5, ['undelivered'], 0])
})

test('a dropped alert says what the webhook answered last, without the path of its URL', async () => {
  const drop = async (last: false | Error | 'silence') => {
    const { send, answers, wakes, reasons } = aWebhook()
    send()
    for (let attempt = 1; attempt < 5; attempt++) {
      await answers(false)
      await wakes()
    }
    if (last === 'silence') await wakes()
    else await answers(last)
    return reasons
  }
  assert.deepEqual(await drop(false), ['http://hook: it answered 503'])
  assert.deepEqual(await drop(new Error('refused')), ['http://hook: refused'])
  assert.deepEqual(await drop('silence'), ['http://hook: it did not answer within 5 s'])
})

test('an answer after its deadline is ignored', async () => {
  const { webhook, posts, send, answers, wakes } = aWebhook()
  send(0.1)
  send(0.2)
  await wakes()
  await answers(true)
  assert.equal(webhook.waiting, 2)
  await wakes()
  assert.deepEqual(
    posts.map(({ body }) => body.threshold),
    [0.1, 0.1],
  )
  await answers(true)
  assert.equal(posts.at(-1)?.body.threshold, 0.2)
})

test('a receiver that accepts nothing costs the memory of at most a hundred alerts', () => {
  const { webhook, dropped, send } = aWebhook()
  for (let index = 0; index < 150; index++) send()
  assert.equal(webhook.waiting, 100)
  assert.deepEqual(dropped, new Array(50).fill('queue_full'))
})

test('a post that throws at once is retried, and its error does not reach the caller', async () => {
  const clock = aClock()
  const fails = () => {
    throw new Error('bad address')
  }
  const webhook = new AlertWebhook({
    post: fails,
    clock,
    random: () => 0,
    onDrop: () => assert.fail(),
  })
  webhook.send(anAlert(), 'nonsense', {})
  await new Promise(setImmediate)
  assert.equal(webhook.due, clock.now() + 500)
})
