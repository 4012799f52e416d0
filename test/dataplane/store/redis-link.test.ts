/** The connection to Redis, with scripted clients and a clock that the test advances. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import type { Script, StoreAway } from '../../../dataplane/store/redis/link.ts'
import type { RedisClient } from '../../../dataplane/store/redis/redis-client.ts'
import { type ClientEvents, RedisLink } from '../../../dataplane/store/redis/redis-link.ts'
import { aClock } from '../../helpers/clock.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
afterEach(() => mock.timers.reset())

const TIMEOUT_MS = 50
const script: Script = { name: 'take', lua: 'return 1' }
const ping: Script = { name: 'ping', lua: 'return redis.call("PING")' }

interface Opened {
  readonly on: ClientEvents
  readonly connectMs: number
  isReady: boolean
  isClosed: boolean
}

/** A link whose clients answer with `rig.answer`; undefined: never. */
function aRig(isReady = true) {
  const clock = aClock()
  const opened: Opened[] = []
  const rig = {
    answer: (_text: string): unknown => 'PONG',
    asked: [] as string[],
    changes: [] as string[],
    failures: [] as string[],
    open: () => undefined as undefined,
  }
  const ask = async (text: string) => {
    rig.asked.push(text)
    const reply = rig.answer(text)
    if (reply instanceof Error) throw reply
    return await (reply === undefined ? new Promise(() => undefined) : reply)
  }
  const link = new RedisLink({
    clock,
    random: () => 0.5,
    timeoutMs: TIMEOUT_MS,
    probe: (send) => send(ping, [], []),
    onChange: (isUp, why) => rig.changes.push(isUp ? 'up' : `away: ${why?.reason}`),
    onFailure: ({ reason }) => rig.failures.push(reason),
    open(connectMs, on) {
      rig.open()
      const client = { on, connectMs, isReady, isClosed: false }
      opened.push(client)
      return Object.assign(client, {
        runCached: (_sha: string, keys: readonly string[]) => ask(`cached ${keys}`),
        runWhole: (lua: string) => ask(`whole ${lua}`),
        close: () => {
          client.isClosed = true
        },
      }) satisfies RedisClient
    },
  })
  /** In steps of a millisecond, each with all its consequences. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed++) {
      clock.pass(1)
      mock.timers.tick(1)
      await turn()
    }
  }
  const run = (key = 'k') => link.run(script, [key], []).catch((away: StoreAway) => away)
  return { rig, link, opened, pass, run, last: () => opened.at(-1) as Opened }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A link after a good first probe. */
async function aLinkThatIsUp() {
  const whole = aRig()
  const started = whole.link.start(5_000)
  await whole.pass(200)
  await started
  whole.rig.asked.length = 0
  assert.equal(whole.link.isAway, false)
  return whole
}

/** Why a script failed, and whether it may have run. */
function said(outcome: unknown): readonly unknown[] {
  const { reason, maybeApplied } = outcome as StoreAway
  return [reason, maybeApplied]
}

test('the start ends with the first good probe, and the change is reported once', async () => {
  const { rig, link, pass } = aRig()
  let isStarted = false
  void link.start(5_000).then(() => {
    isStarted = true
  })
  assert.equal(link.isAway, true)
  await pass(200)
  assert.deepEqual([isStarted, link.isAway], [true, false])
  await pass(3_000)
  assert.deepEqual(rig.changes, ['up'])
  link.close()
})

test('the start ends after its time without a store, and the link keeps trying', async () => {
  const { rig, link, opened, pass } = aRig(false)
  let isStarted = false
  void link.start(300).then(() => {
    isStarted = true
  })
  await pass(299)
  assert.equal(isStarted, false)
  await pass(1)
  assert.equal(isStarted, true)
  await pass(1_000)
  assert.ok(opened.length > 1, 'another connection was opened')
  assert.deepEqual(rig.changes, [])
  link.close()
})

test('a script is sent by its hash, and whole to a server that does not have it', async () => {
  const { rig, link, run } = await aLinkThatIsUp()
  rig.answer = (text) => (text === 'cached b' ? new Error('NOSCRIPT No matching script.') : 7)
  assert.deepEqual([await run('a'), await run('b')], [7, 7])
  assert.deepEqual(rig.asked, ['cached a', 'cached b', `whole ${script.lua}`])
  assert.deepEqual(rig.failures, [])
  link.close()
})

test('a script without an answer fails at its deadline, and may have run', async () => {
  const { rig, link, pass, run } = await aLinkThatIsUp()
  rig.answer = () => undefined
  const outcome = run()
  let isOver = false
  void outcome.then(() => {
    isOver = true
  })
  await pass(TIMEOUT_MS - 1)
  assert.equal(isOver, false)
  await pass(2)
  assert.deepEqual(said(await outcome), ['timeout', true])
  assert.deepEqual(rig.failures, ['timeout'])
  assert.equal(link.isAway, false, 'one failure is no outage')
  link.close()
})

test('an answer that came while the process was busy counts, even after the deadline', async () => {
  const { rig, link, run } = await aLinkThatIsUp()
  const answer = Promise.withResolvers()
  rig.answer = () => answer.promise
  const outcome = run()
  mock.timers.tick(TIMEOUT_MS)
  answer.resolve(7)
  assert.equal(await outcome, 7)
  assert.deepEqual(rig.failures, [])
  link.close()
})

test('the third failure makes the store unavailable, fails waiting calls, and later scripts are refused unsent', async () => {
  const { rig, link, pass, run } = await aLinkThatIsUp()
  rig.answer = (text) => (text === 'cached waits' ? undefined : new Error('READONLY'))
  const waits = run('waits')
  for (let failure = 0; failure < 3; failure++)
    assert.deepEqual(said(await run()), ['readonly', false])
  assert.deepEqual(said(await waits), ['readonly', true], 'it does not wait for its deadline')
  assert.equal(link.isAway, true)
  assert.deepEqual(rig.changes, ['up', 'away: readonly'])
  rig.asked.length = 0
  const failures = rig.failures.length
  assert.deepEqual(said(await run()), ['open', false])
  assert.deepEqual(rig.asked, [])
  assert.equal(rig.failures.length, failures, 'a refusal is no failure of the store')
  await pass(0)
  link.close()
})

test('a script error in Redis does not make the store unavailable', async () => {
  const { rig, link, run } = await aLinkThatIsUp()
  rig.answer = () => new Error('WRONGTYPE Operation against a key')
  for (let failure = 0; failure < 10; failure++)
    assert.deepEqual(said(await run()), ['other', true])
  assert.equal(link.isAway, false)
  link.close()
})

test('an unavailable store is used again after three good probes', async () => {
  const { rig, link, opened, pass, run } = await aLinkThatIsUp()
  rig.answer = () => new Error('LOADING')
  for (let failure = 0; failure < 3; failure++) await run()
  await pass(1_000)
  assert.equal(link.isAway, true)
  assert.ok(opened.length > 2, 'a bad probe causes another connection')
  rig.answer = () => 'PONG'
  rig.asked.length = 0
  while (link.isAway) await pass(1)
  assert.equal(rig.asked.length, 3)
  assert.deepEqual(rig.changes, ['up', 'away: connection', 'up'])
  link.close()
})

test('a connection is kept if another one would not help', async () => {
  const { rig, link, opened, pass, run } = await aLinkThatIsUp()
  rig.answer = () => new Error('NOPERM this user has no permissions')
  for (let failure = 0; failure < 3; failure++) await run()
  await pass(1_000)
  assert.equal(link.isAway, true)
  assert.equal(opened.length, 1)
  link.close()
})

test('a connection that ends fails its waiting calls, and another one follows at once', async () => {
  const { rig, link, opened, pass, run, last } = await aLinkThatIsUp()
  rig.answer = () => undefined
  const waits = run()
  last().on.onEnd(new Error('ECONNRESET'))
  assert.deepEqual(said(await waits), ['connection', true])
  assert.deepEqual(said(await run()), ['connection', false], 'nothing was sent')
  await pass(50)
  assert.equal(opened.length, 2)
  link.close()
})

test('the end of a replaced connection changes nothing', async () => {
  const { rig, link, opened, pass, last } = await aLinkThatIsUp()
  const [first] = opened
  last().on.onEnd(undefined)
  await pass(100)
  const failures = rig.failures.length
  first?.on.onEnd(new Error('late'))
  await pass(100)
  assert.deepEqual([opened.length, rig.failures.length], [2, failures])
  link.close()
})

test('a connection that is not ready in time is closed, and another one opened', async () => {
  const { link, opened, pass } = aRig(false)
  void link.start(60_000)
  await pass(600)
  assert.deepEqual([opened.length, opened[0]?.connectMs, opened[0]?.isClosed], [1, 600, false])
  await pass(300)
  assert.deepEqual([opened.length, opened[0]?.isClosed], [2, true])
  link.close()
})

test('a connection that cannot be opened is tried again', async () => {
  const { rig, link, opened, pass } = aRig()
  rig.open = () => {
    throw new Error('ENOENT: ca.pem')
  }
  void link.start(60_000)
  await pass(400)
  assert.equal(opened.length, 0)
  assert.ok(rig.failures.length >= 2)
  rig.open = () => undefined
  await pass(400)
  assert.equal(link.isAway, false)
  link.close()
})

test('an idle link detects an outage by its probes', async () => {
  const { rig, link, pass } = await aLinkThatIsUp()
  await pass(1_000)
  assert.equal(rig.asked.length, 1, 'one probe a second while all is well')
  rig.answer = () => new Error('READONLY')
  await pass(2_000)
  assert.equal(link.isAway, true)
  assert.deepEqual(rig.changes, ['up', 'away: readonly'])
  link.close()
})

test('a closed link opens nothing, and fails waiting calls', async () => {
  const { rig, link, opened, pass, run, last } = await aLinkThatIsUp()
  rig.answer = () => undefined
  const waits = run()
  link.close()
  assert.deepEqual(said(await waits), ['connection', true])
  assert.equal(last().isClosed, true)
  await pass(2_000)
  assert.equal(opened.length, 1)
})
