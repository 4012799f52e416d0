/** A request holds its slot until it ends, and then releases it, however it ends. */
import assert from 'node:assert/strict'
import { after, beforeEach, describe, test } from 'node:test'
import {
  type Asking,
  after as afterwards,
  type FakeUpstream,
  failing,
  QUESTION,
  refusingUrl,
  silent,
  startUpstream,
  streaming,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import { RawSocket } from './hostile/raw-socket.ts'
import {
  ANSWER_TOKENS,
  assertLimited,
  keysOf,
  standing,
  startLimited,
  untilIdle,
} from './limits/limited-gateway.ts'

const SLOTS = 2

const [upstream, fallback] = await Promise.all([startUpstream(), startUpstream()])
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'up', endpoint: upstream.url },
      { name: 'stalling', endpoint: upstream.url, idle_timeout_seconds: 1 },
      { name: 'spare', endpoint: fallback.url },
      { name: 'gone', endpoint: await refusingUrl() },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'spilling', strategy: 'primary_with_fallback', primary: 'up', fallback: ['spare'] },
      { name: 'gone', strategy: 'single', primary: 'gone' },
      { name: 'stalling', strategy: 'single', primary: 'stalling' },
      { name: 'short', strategy: 'single', primary: 'up', timeout_seconds: 1 },
    ],
    rate_limits: {
      default: { requests_per_minute: 100_000, burst: 100_000, concurrent_requests: SLOTS },
    },
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000 }],
  },
  keysOf(['acme']),
)
after(() => Promise.all([gateway.stop(), upstream.close(), fallback.close()]))
const front = gateway.as('acme')

beforeEach(() => {
  for (const one of [upstream, fallback]) {
    one.asked.length = 0
    one.script.length = 0
  }
})

async function settled(): Promise<number> {
  return (await standing(front, 'acme')).tokens_per_day.used
}

async function running(): Promise<number> {
  return (await standing(front, 'acme')).concurrent_requests.used
}

/**
 * Fills every slot with requests that get no answer yet, and returns a function that frees them.
 */
async function fill(): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>()
  upstream.script.push(...Array.from({ length: SLOTS }, () => afterwards(promise, streaming())))
  const all = Array.from({ length: SLOTS }, () => front.stream())
  await until('all slots are taken', async () => (await running()) === SLOTS)
  return async () => {
    resolve()
    for (const one of await Promise.all(all)) assert.equal(one.status, 200)
  }
}

test('a request above the limit is refused while the others continue', async () => {
  const release = await fill()
  const refused = await front.chat()
  await release()
  const error = assertLimited(refused, 'concurrency')
  assert.deepEqual(
    [error.limited_by, error.limit, error.used],
    ['concurrent_requests', SLOTS, SLOTS],
  )
  await untilIdle(front, 'acme')
  assert.equal((await front.chat()).status, 200)
})

test('a stream holds its slot until its end, not until its first word', async () => {
  const { promise: hold, resolve } = Promise.withResolvers<void>()
  upstream.script.push(streaming({ hold }), streaming({ hold }))
  const streams = [front.ask({ stream: true }), front.ask({ stream: true })]
  await Promise.all(streams.map((one) => heardSomething(one)))
  const refused = await front.chat()
  resolve()
  await Promise.all(streams.map(({ over }) => over))
  assertLimited(refused, 'concurrency')
  assert.equal((await front.chat()).status, 200)
})

async function heardSomething(asking: Asking): Promise<void> {
  await until('the first word arrives', () => asking.text().includes('hel'))
}

/** The tokens of a prompt without reported usage: its word, and the template around a message. */
const PROMPT_TOKENS = 5

const HEAD = `POST /v1/chat/completions HTTP/1.1\r\nHost: gw\r\nAuthorization: Bearer ${front.key}\r\nContent-Type: application/json\r\n`

/** Each entry ends a request in one way; `charged` is its charge. */
const ENDS: readonly {
  readonly how: string
  readonly charged: number
  readonly end: () => Promise<unknown>
}[] = [
  {
    how: 'a whole answer',
    charged: ANSWER_TOKENS,
    end: () => front.chat(),
  },
  {
    how: 'the end of a stream',
    charged: ANSWER_TOKENS,
    end: () => {
      upstream.script.push(streaming())
      return front.stream()
    },
  },
  {
    how: 'a client that leaves before the end of its body',
    charged: 0,
    async end() {
      const socket = new RawSocket(front.process.url)
      socket.send(`${HEAD}Content-Length: 1000\r\n\r\n{"model":`)
      await until('it is sent', () => socket.drained)
      socket.leave()
    },
  },
  {
    how: 'a body with broken chunks',
    charged: 0,
    async end() {
      const socket = new RawSocket(front.process.url)
      socket.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"mod\r\nno chunk\r\n`)
      await until('it is refused', () => socket.answers.length > 0)
      assert.equal(socket.answers[0]?.status, 400)
      socket.leave()
    },
  },
  {
    how: 'a client that closes its sending side after its request',
    charged: PROMPT_TOKENS,
    async end() {
      upstream.script.push(silent)
      const body = JSON.stringify(QUESTION)
      const socket = new RawSocket(front.process.url)
      socket.send(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
      await until('the upstream has the request', () => upstream.asked.length > 0)
      socket.sendEnd()
    },
  },
  {
    how: 'a client that disconnects before the upstream answers',
    charged: PROMPT_TOKENS,
    end: () => leaveOnceAsked(upstream),
  },
  {
    how: "a client that disconnects after the upstream's head",
    charged: PROMPT_TOKENS,
    end: () => leaveOnceAsked(upstream, (outgoing) => void outgoing.writeHead(200).flushHeaders()),
  },
  {
    how: 'a client that disconnects in the middle of a stream',
    charged: PROMPT_TOKENS + 1,
    async end() {
      upstream.script.push(streaming({ hold: new Promise(() => {}) }))
      const asking = front.ask({ stream: true })
      await heardSomething(asking)
      asking.leave()
    },
  },
  {
    how: 'a client that disconnects during the fallback',
    charged: PROMPT_TOKENS,
    async end() {
      upstream.script.push(failing(500))
      await leaveOnceAsked(fallback, silent, 'spilling')
    },
  },
  {
    how: 'an upstream that cuts its stream',
    charged: PROMPT_TOKENS + 2,
    end: () => {
      upstream.script.push(streaming({ end: 'cut' }))
      return front.stream()
    },
  },
  {
    how: 'an upstream that stalls in the middle of a stream',
    charged: PROMPT_TOKENS + 1,
    end: () => {
      upstream.script.push(streaming({ hold: new Promise(() => {}) }))
      return front.stream({ model: 'stalling' })
    },
  },
  {
    how: 'an upstream that fails',
    charged: 0,
    end: () => {
      upstream.script.push(failing(500))
      return front.chat()
    },
  },
  {
    how: 'an upstream that is unreachable',
    charged: 0,
    end: () => front.chat({ model: 'gone' }),
  },
  {
    how: "an upstream that refuses the client's mistake",
    charged: 0,
    end: () => {
      upstream.script.push(failing(422))
      return front.chat()
    },
  },
  {
    how: 'the deadline of the route',
    charged: PROMPT_TOKENS,
    end: () => {
      upstream.script.push(silent)
      return front.chat({ model: 'short' })
    },
  },
  {
    how: 'a refusal of the gateway',
    charged: 0,
    end: () => front.chat({ model: 'nowhere' }),
  },
]

async function leaveOnceAsked(by: FakeUpstream, reply = silent, model = 'chat'): Promise<void> {
  by.script.push(reply)
  const asking = front.ask({ model, stream: true })
  asking.head.catch(() => {})
  await until('the upstream has the request', () => by.asked.length > 0)
  asking.leave()
}

describe('every slot is free again, and received usage is charged once', () => {
  for (const { how, charged, end } of ENDS) {
    test(`after ${how}`, async () => {
      await untilIdle(front, 'acme')
      const before = await settled()
      await end()
      await untilIdle(front, 'acme')
      assert.equal((await settled()) - before, charged)
      const release = await fill()
      const refused = await front.chat()
      await release()
      assertLimited(refused, 'concurrency')
    })
  }
})
