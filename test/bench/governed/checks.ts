/** The checks: each starts a system with its limits, does harm or sends requests, and returns its figures. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  event,
  type FakeUpstream,
  type Reply,
  startUpstream,
  whole,
} from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { ROUTE } from '../gateway.ts'
import { mustServe, OK, servedAtOnce, settled, statusOf, stream, timed } from './requests.ts'
import {
  type Check,
  type Figures,
  MICRO,
  NEVER,
  PRICE,
  type Running,
  SLOT_SECONDS_MAX,
  type Store,
  type System,
  type Terms,
} from './system.ts'

const CAP = 10
const AT_ONCE = 64
const SLOTS = 4
const LOST_REQUESTS = 20
const LOST_EVERY_MS = 50
const WORDS = 20
const SLOW_MS = 300
/** The number that an upstream reports for the prompt of `askFor`: a word. */
const PROMPT_TOKENS = 7

export const RUNS: Readonly<Record<Check, (system: System) => Promise<Figures>>> = {
  cap,
  slots,
  store: lost,
  revocation,
  'cached tokens': cached,
  aborted,
}

/** All are admitted before any is settled. */
const slow: Reply = async (outgoing, asked) => {
  await delay(SLOW_MS)
  await whole()(outgoing, asked)
}

async function cap(system: System): Promise<Figures> {
  return await checking(system, { requestsMax: CAP }, slow, async ({ running }) => {
    const beyond = (count: number) => (100 * (count - CAP)) / CAP
    let served = await servedAtOnce(running, system.atOnceMax ?? AT_ONCE)
    const atOnce = beyond(served)
    if (!system.isBudget) return { atOnce }
    while (served < AT_ONCE && (await statusOf(running, served)) === OK) served++
    return { atOnce, inAll: beyond(served) }
  })
}

/** A killed process cannot give back the slots of its requests. */
async function slots(system: System): Promise<Figures> {
  const streamed = endless()
  const reply: Reply = (outgoing, asked) => (asked.body.stream ? streamed : slow)(outgoing, asked)
  return await checking(system, { slots: SLOTS }, reply, async ({ running }) => {
    const heads = await Promise.all(Array.from({ length: SLOTS }, () => stream(running).head))
    if (heads.some(({ statusCode }) => statusCode !== OK)) {
      throw new Error(`${system.name} refused a stream although a slot was free.`)
    }
    const next = await running.kill()
    try {
      await delay(1_000)
      const began = performance.now()
      const free = await servedAtOnce(next, SLOTS)
      let [seconds, now] = [0, free]
      while (now < SLOTS && seconds < SLOT_SECONDS_MAX) {
        now = await servedAtOnce(next, SLOTS)
        seconds = (performance.now() - began) / 1_000
      }
      return { slots: SLOTS - free, slotSeconds: now < SLOTS ? NEVER : seconds }
    } finally {
      await next.stop()
    }
  })
}

async function lost(system: System): Promise<Figures> {
  return await checking(system, {}, whole(), async ({ running, store }) => {
    await mustServe(system, running)
    await store?.end()
    const asked: Promise<{ status: number; ms: number }>[] = []
    for (let index = 0; index < LOST_REQUESTS; index++) {
      asked.push(timed(() => statusOf(running, index)))
      await delay(LOST_EVERY_MS)
    }
    const answers = await Promise.all(asked)
    const served = answers.filter(({ status }) => status === OK).length
    return {
      lost: (100 * served) / LOST_REQUESTS,
      lostMs: Math.max(...answers.map(({ ms }) => ms)),
    }
  })
}

/** Until all processes refuse it. */
async function revocation(system: System): Promise<Figures> {
  return await checking(system, {}, whole(), async ({ running }) => {
    await mustServe(system, running)
    const began = performance.now()
    await running.revoke?.()
    const refused = running.urls.map((_, index) =>
      until('the key is refused', async () => (await statusOf(running, index)) !== OK),
    )
    await Promise.all(refused)
    return { revocation: performance.now() - began }
  })
}

async function cached(system: System): Promise<Figures> {
  const usage = {
    prompt_tokens: 1_000,
    completion_tokens: 10,
    total_tokens: 1_010,
    prompt_tokens_details: { cached_tokens: 800 },
  }
  const price = (200 * PRICE.input + 800 * PRICE.cached_input + 10 * PRICE.output) * MICRO
  return await checking(system, {}, whole('hello', usage), async ({ running }) => {
    await mustServe(system, running)
    return { cached: (await settled(running)) / price }
  })
}

/** The upstream reports no usage to a client that leaves. */
async function aborted(system: System): Promise<Figures> {
  let generated = 0
  const counting = endless(() => generated++)
  return await checking(system, {}, counting, async ({ running, upstream }) => {
    const asking = stream(running)
    await until('the words are here', () => asking.text().split('word').length > WORDS)
    asking.leave()
    await until('the upstream was left', () => upstream.abandoned > 0)
    const answer = generated * PRICE.output * MICRO
    return { aborted: (await settled(running)) / (answer + PROMPT_TOKENS * PRICE.input * MICRO) }
  })
}

/** A word each 10 ms until the client leaves. */
function endless(onWord = () => {}): Reply {
  const choice = { index: 0, delta: { content: ' word' }, finish_reason: null }
  const shape = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'served' }
  return async (outgoing) => {
    outgoing.writeHead(OK, { 'content-type': 'text/event-stream' })
    while (!outgoing.destroyed) {
      outgoing.write(event({ ...shape, choices: [choice] }))
      onWord()
      await delay(10)
    }
  }
}

interface Checked {
  readonly running: Running
  readonly upstream: FakeUpstream
  readonly store: Store | undefined
}

async function checking(
  system: System,
  terms: Omit<Terms, 'upstreamUrl' | 'store'>,
  reply: Reply,
  check: (checked: Checked) => Promise<Figures>,
): Promise<Figures> {
  const upstream = await startUpstream(reply)
  upstream.vendor = { takesAll: 'Routers add members of vLLM and SGLang to each request.' }
  upstream.models = { object: 'list', data: [{ id: ROUTE, object: 'model' }] }
  const store = await system.startStore?.()
  try {
    const running = await system.start({ ...terms, upstreamUrl: upstream.url, store })
    try {
      return await check({ running, upstream, store })
    } finally {
      await running.stop()
    }
  } finally {
    await upstream.close()
    await store?.stop()
  }
}
