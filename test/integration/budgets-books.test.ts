/**
 * Accounting: over 3,000 requests with random faults, settled usage equals the usage that upstreams
 * reported, to the token.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { weightOf } from '../../dataplane/tokens/weight.ts'
import {
  type Asked,
  event,
  failing,
  type Reply,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { aRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import { keysOf, standing, startLimited, untilIdle } from './limits/limited-gateway.ts'

const REQUESTS = 3000
const AT_ONCE = 24
const SEED = 20_261_121
/** The tokens that a template adds around a message. */
const AROUND = 4

/** USD per million tokens, which is also thousands of nano-dollars a token. */
const PRICES = [
  { model: 'dear', input: 10, output: 20 },
  { model: 'cheap', input: 1, output: 2 },
]

/** The correct charge of a request, by the upstreams' own records. */
const books = { tokens: 0, nanos: 0, estimated: 0 }
const random = aRandom(SEED)
const kinds = new Map<string, number>()

function note(asked: Asked, prompt: number, completion: number): void {
  const price = PRICES.find(({ model }) => model === asked.body.model)
  books.tokens += prompt + completion
  books.nanos += 1000 * (prompt * (price?.input ?? 0) + completion * (price?.output ?? 0))
}

/**
 * As the gateway estimates it: what it learned about this upstream does not change the estimates.
 */
function promptOf({ body }: Asked): number {
  const [{ content }] = body.messages as [{ content: string }]
  return AROUND + weightOf(Buffer.from(content))
}

/** Reported: the prompt, and the number of words of a stream or a random number. */
function reported(asked: Asked, words = 1 + random(2000)) {
  const usage = { prompt_tokens: promptOf(asked), completion_tokens: words }
  note(asked, usage.prompt_tokens, usage.completion_tokens)
  return usage
}

/** Not reported: the estimate of the prompt, and a token for each event. */
function estimated(asked: Asked, events: number): void {
  note(asked, promptOf(asked), events)
  books.estimated++
}

function word(): string {
  return event({ choices: [{ index: 0, delta: { content: 'w ' }, finish_reason: null }] })
}

const FINISH = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })

type Way = 'whole' | 'told' | 'untold' | 'cut' | 'cut_told' | 'error' | 'early' | 'left'

/** A stream that ends in one of several ways. */
function stream(way: Way): Reply {
  return async (outgoing, asked) => {
    const words = way === 'early' ? 0 : 1 + random(12)
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let sent = 0; sent < words; sent++) outgoing.write(word())
    // The client of such a request disconnects after this many words.
    if (way === 'left') {
      estimated(asked, words)
      outgoing.write(`: ${words} words\n\n`)
      return
    }
    if (way === 'told' || way === 'cut_told') {
      outgoing.write(event({ choices: [], usage: reported(asked, words) }))
    } else if (words > 0) {
      estimated(asked, words)
    }
    if (way === 'error') outgoing.write(event({ error: { message: 'Broken.', code: 500 } }))
    if (way === 'told' || way === 'untold') {
      outgoing.write(FINISH)
      outgoing.end('data: [DONE]\n\n')
    } else {
      // Node buffers writes until the next turn of the event loop, and would lose them.
      await turn()
      outgoing.socket?.destroySoon()
    }
  }
}

const STREAMS: readonly Way[] = ['told', 'told', 'untold', 'cut', 'cut_told', 'error', 'early']

const reply: Reply = async (outgoing, asked) => {
  const leaves = JSON.stringify(asked.body.messages).includes('leaves')
  const chance = leaves ? 0 : random(10)
  if (chance === 9) return failing([500, 503, 429, 422][random(4)] ?? 500)(outgoing, asked)
  if (chance === 8) return void outgoing.socket?.destroy()
  if (asked.body.stream !== true) return whole('answer', reported(asked))(outgoing, asked)
  const way = leaves ? 'left' : (STREAMS[random(STREAMS.length)] ?? 'told')
  kinds.set(way, (kinds.get(way) ?? 0) + 1)
  return stream(way)(outgoing, asked)
}

const [first, second] = await Promise.all([startUpstream(reply), startUpstream(reply)])
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'first', endpoint: first.url, model: 'dear' },
      { name: 'second', endpoint: second.url, model: 'cheap' },
    ],
    routes: [
      {
        name: 'chat',
        strategy: 'primary_with_fallback',
        primary: 'first',
        fallback: ['second'],
        retry: { max_attempts: 3, initial_delay_ms: 1, respect_retry_after: false },
      },
    ],
    rate_limits: { default: PLENTY },
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000, spend_per_month_usd: 1_000_000 }],
    pricing: PRICES,
    telemetry: { access_log: false },
  },
  keysOf(['acme']),
)
after(() => Promise.all([gateway.stop(), first.close(), second.close()]))
const front = gateway.as('acme')

function question(fields: { readonly stream: boolean }, content: string) {
  return { ...fields, messages: [{ role: 'user', content }] }
}

async function ask(): Promise<string> {
  const draw = random(10)
  if (draw === 0) {
    const asking = front.ask(question({ stream: true }, 'leaves'))
    await asking.head
    await until('all words arrive', () => {
      const words = / (\d+) words/.exec(` ${asking.text()}`)?.[1]
      return words !== undefined && asking.text().split('"w "').length > Number(words)
    })
    asking.leave()
    return 'left'
  }
  const { status } = await front.chat(
    question({ stream: draw < 6 }, 'word '.repeat(1 + random(100))),
  )
  return String(status)
}

test('3,000 requests through random faults: the difference is 0', async (context) => {
  const ends = new Map<string, number>()
  let begun = 0
  const client = async () => {
    while (begun < REQUESTS) {
      begun++
      const end = await ask()
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  await untilIdle(front, 'acme')
  const { tokens_per_day: day, spend_per_month_usd: month } = await standing(front, 'acme')
  context.diagnostic(`${JSON.stringify(Object.fromEntries([...ends, ...kinds]))}`)
  context.diagnostic(`${books.tokens} tokens, ${books.estimated} requests estimated`)
  assert.equal(day.used, books.tokens)
  assert.equal(Math.round(Number(month.used) * 1e9), books.nanos)
  const series = await front.series()
  const counted = [...series].filter(([name]) => name.startsWith('gw_tokens_total{'))
  assert.equal(
    counted.reduce((sum, [, value]) => sum + value, 0),
    books.tokens,
  )
})
