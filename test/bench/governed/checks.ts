/** The checks: each starts a system with its limits, does harm or sends requests, and returns its figures. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Asking,
  askFor,
  event,
  type FakeUpstream,
  type Reply,
  startUpstream,
  whole,
} from '../../helpers/fake-upstream.ts'
import { startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { ROUTE } from '../gateway.ts'
import { type Check, MICRO, PRICE, type Running, type System, type Terms } from './system.ts'

export type Figures = Partial<Record<Check, number>>

const CAP = 10
const AT_ONCE = 64
const SLOTS = 4
const SLOT_SECONDS_MAX = 90
const LOST_REQUESTS = 20
const LOST_EVERY_MS = 50
const WORDS = 20
const OK = 200
/** The number that an upstream reports for the prompt of `askFor`: a word. */
const PROMPT_TOKENS = 7
/** An answer of ten tokens. */
const FIELDS = { model: ROUTE, max_tokens: 3 }

export async function overshoot(system: System): Promise<Figures> {
  // All are admitted before any is settled.
  const slow: Reply = async (outgoing, asked) => {
    await delay(300)
    await whole()(outgoing, asked)
  }
  return await checking(system, { requestsMax: CAP }, slow, async (running) => {
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(running)))
    const served = statuses.filter((status) => status === OK).length
    return { overshoot: Math.max(0, (100 * (served - CAP)) / CAP) }
  })
}

/** A killed process cannot give back the slots of its requests. */
export async function slots(system: System): Promise<Figures> {
  const redis = await startRedis()
  const upstream = await startUpstream(endless)
  const terms = { upstreamUrl: upstream.url, slots: SLOTS, storeSocket: redis.socket }
  try {
    const first = await system.start(terms)
    const streams = Array.from({ length: SLOTS }, () => stream(first))
    await Promise.all(streams.map(({ head }) => head))
    await first.kill()
    const second = await system.start(terms)
    try {
      await delay(1_000)
      const free = await admittedAtOnce(second)
      const began = performance.now()
      await until(
        'all slots are free',
        async () => (await admittedAtOnce(second)) === SLOTS,
        SLOT_SECONDS_MAX,
      )
      return { slots: SLOTS - free, slotSeconds: (performance.now() - began) / 1_000 }
    } finally {
      await second.stop()
    }
  } finally {
    await upstream.close()
    await redis.stop()
  }
}

/** How many of `SLOTS` streams begin; they end again. */
async function admittedAtOnce(running: Running): Promise<number> {
  const asked = Array.from({ length: SLOTS }, () => stream(running))
  const heads = await Promise.all(asked.map(({ head }) => head))
  for (const one of asked) one.leave()
  await delay(100)
  return heads.filter(({ statusCode }) => statusCode === OK).length
}

export async function lost(system: System): Promise<Figures> {
  const redis = await startRedis()
  try {
    return await checking(system, { storeSocket: redis.socket }, whole(), async (running) => {
      await statusOf(running)
      redis.signal('SIGKILL')
      await redis.exited
      const asked: Promise<{ status: number; ms: number }>[] = []
      for (let index = 0; index < LOST_REQUESTS; index++) {
        asked.push(timed(() => statusOf(running)))
        await delay(LOST_EVERY_MS)
      }
      const answers = await Promise.all(asked)
      const served = answers.filter(({ status }) => status === OK).length
      return {
        lost: (100 * served) / LOST_REQUESTS,
        lostMs: Math.max(...answers.map(({ ms }) => ms)),
      }
    })
  } finally {
    await redis.stop()
  }
}

export async function revocation(system: System): Promise<Figures> {
  return await checking(system, {}, whole(), async (running) => {
    if ((await statusOf(running)) !== OK) throw new Error(`${system.name} refused a good key.`)
    const began = performance.now()
    await running.revoke?.()
    await until('the key is refused', async () => (await statusOf(running)) !== OK)
    return { revocation: performance.now() - began }
  })
}

export async function cached(system: System): Promise<Figures> {
  const usage = {
    prompt_tokens: 1_000,
    completion_tokens: 10,
    total_tokens: 1_010,
    prompt_tokens_details: { cached_tokens: 800 },
  }
  const price = (200 * PRICE.input + 800 * PRICE.cached_input + 10 * PRICE.output) * MICRO
  return await checking(system, {}, whole('hello', usage), async (running) => {
    await statusOf(running)
    return { cached: (await settled(running)) / price }
  })
}

/** The upstream reports no usage to a client that leaves. */
export async function aborted(system: System): Promise<Figures> {
  return await checking(system, {}, endless, async (running, upstream) => {
    const asking = stream(running)
    await until('the words are here', () => asking.text().split('word').length > WORDS)
    asking.leave()
    await until('the upstream was left', () => upstream.abandoned > 0)
    const answer = generated * PRICE.output * MICRO
    return { aborted: (await settled(running)) / (answer + PROMPT_TOKENS * PRICE.input * MICRO) }
  })
}

let generated = 0

/** A word each 10 ms until the client leaves. */
const endless: Reply = async (outgoing) => {
  generated = 0
  outgoing.writeHead(OK, { 'content-type': 'text/event-stream' })
  while (!outgoing.destroyed) {
    const choice = { index: 0, delta: { content: ' word' }, finish_reason: null }
    outgoing.write(event({ object: 'chat.completion.chunk', choices: [choice] }))
    generated++
    await delay(10)
  }
}

/** Once it no longer changes. */
async function settled(running: Running): Promise<number> {
  let last = -1
  await until('the charge is settled', async () => {
    const before = last
    await delay(200)
    last = (await running.spent?.()) ?? 0
    return last > 0 && last === before
  })
  return last
}

async function checking(
  system: System,
  terms: Omit<Terms, 'upstreamUrl'>,
  reply: Reply,
  check: (running: Running, upstream: FakeUpstream) => Promise<Figures>,
): Promise<Figures> {
  const upstream = await startUpstream(reply)
  try {
    const running = await system.start({ ...terms, upstreamUrl: upstream.url })
    try {
      return await check(running, upstream)
    } finally {
      await running.stop()
    }
  } finally {
    await upstream.close()
  }
}

function stream({ url, key }: Running): Asking {
  return askFor(url, key, { model: ROUTE, stream: true })
}

/** 0 if the connection broke. */
async function statusOf({ url, key }: Running): Promise<number> {
  return await askFor(url, key, FIELDS).over.then(
    ({ status }) => status,
    () => 0,
  )
}

async function timed(work: () => Promise<number>): Promise<{ status: number; ms: number }> {
  const began = performance.now()
  return { status: await work(), ms: performance.now() - began }
}
