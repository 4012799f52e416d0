/**
 * Accounting of several processes: logs, settlements and upstreams' records, through sixteen
 * faults, while the configuration changes.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { weightOf } from '../../../dataplane/tokens/weight.ts'
import { cases } from '../../helpers/cases.ts'
import {
  type Asked,
  event,
  failing,
  type Reply,
  silent,
  startUpstream,
  whole,
} from '../../helpers/fake-upstream.ts'
import { aRandom } from '../../helpers/random.ts'
import { recordResult } from '../../helpers/results.ts'
import { until } from '../../helpers/until.ts'
import { keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

const REQUESTS = cases(3000, 10_000)
const AT_ONCE = 150
/** The tokens that a template adds around a message. */
const AROUND = 4

const random = aRandom(20_261_121)
const books = { tokens: 0, estimated: 0 }

/**
 * As the gateways estimate it: what they learned about an upstream does not change the estimates.
 */
function promptOf({ body }: Asked): number {
  const [{ content }] = body.messages as [{ content: string }]
  return AROUND + weightOf(Buffer.from(content))
}

/** The prompt, and the number of words of a stream or a random number. */
function reported(asked: Asked, words = 1 + random(500)) {
  const usage = { prompt_tokens: promptOf(asked), completion_tokens: words }
  books.tokens += usage.prompt_tokens + usage.completion_tokens
  return usage
}

/** Not reported: the estimate of the prompt, and a token for each word. */
function untold(asked: Asked, words: number): void {
  books.tokens += promptOf(asked) + words
  books.estimated++
}

interface Manner {
  readonly slowMs?: number
  readonly breaksOff?: 'cut' | 'stall'
  readonly broken?: true
  readonly done?: false
}

/**
 * An answer that ends in one of several ways. A broken answer that is not a stream costs nothing:
 * its upstream has failed. One that the gateway gives up after silence costs its prompt.
 */
function answer({ slowMs, breaksOff, broken, done }: Manner): Reply {
  return async (outgoing, asked) => {
    if (slowMs !== undefined) {
      untold(asked, 0)
      await delay(slowMs)
      // The gateway has timed out long ago.
      if (outgoing.destroyed) return
    }
    if (asked.body.stream !== true) {
      if (breaksOff === undefined && broken === undefined) {
        return await whole('answer', reported(asked))(outgoing, asked)
      }
      outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
      if (breaksOff === 'stall') {
        untold(asked, 0)
        return outgoing.flushHeaders()
      }
      return void outgoing.end(broken ? '{"oops'.padEnd(100) : '{"choices', () =>
        outgoing.destroy(),
      )
    }
    const words = 2 + random(10)
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let sent = 0; sent < words; sent++) {
      if (broken && sent === 1) outgoing.write('data: {"choices":[{"delta":{"content": \n\n')
      outgoing.write(chunk({ delta: { content: 'w ' }, finish_reason: null }))
    }
    if (breaksOff !== undefined) {
      untold(asked, words)
      // Node buffers writes until the next turn of the event loop, and would lose them.
      await turn()
      if (breaksOff === 'cut') outgoing.socket?.destroySoon()
      return
    }
    outgoing.write(chunk({ delta: {}, finish_reason: 'stop' }))
    outgoing.write(
      event({ object: 'chat.completion.chunk', choices: [], usage: reported(asked, words) }),
    )
    outgoing.end(done === false ? '' : 'data: [DONE]\n\n')
  }
}

function chunk(choice: Readonly<Record<string, unknown>>): string {
  return event({ object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], usage: null })
}

const refuses = (status: number, code: string) => failing(status, { code })

/** As `faults/catalogue.ts` has them. */
const FAULTS: Readonly<Record<string, Reply>> = {
  S01: failing(429, {}, { 'retry-after': '2' }),
  S02: failing(429),
  S03: failing(500),
  S04: failing(503),
  S05: (outgoing) => void outgoing.socket?.resetAndDestroy(),
  S06: (outgoing, asked) => {
    untold(asked, 0)
    return silent(outgoing, asked)
  },
  S07: answer({ slowMs: 6000 }),
  S08: answer({ breaksOff: 'cut' }),
  S09: answer({ breaksOff: 'stall' }),
  S10: answer({ broken: true }),
  S11: answer({ done: false }),
  S12: refuses(400, 'context_length_exceeded'),
  S13: refuses(400, 'content_policy_violation'),
  S14: answer({ breaksOff: 'cut' }),
  S15: failing(503),
  S16: failing(503, { code: 'overloaded' }),
}
const NAMES = Object.keys(FAULTS)

/**
 * The client names the fault, so that only silent faults have a short timeout: a slow machine is
 * not a fault.
 */
const ROUTES: Readonly<Record<string, string>> = { S06: 'hasty', S07: 'hasty', S09: 'stalling' }
const CLOCKS = {
  chat: { timeout_seconds: 100, idle_timeout_seconds: 100 },
  hasty: { timeout_seconds: 1, idle_timeout_seconds: 100 },
  // A gateway that was paused must read arrived data before it reports silence.
  stalling: { timeout_seconds: 100, idle_timeout_seconds: 3 },
}

const faulty: Reply = async (outgoing, asked) => {
  const [, name = ''] = /fault-(S\d+)/.exec(JSON.stringify(asked.body.messages)) ?? []
  await FAULTS[name]?.(outgoing, asked)
}

const [first, second] = await Promise.all([startUpstream(faulty), startUpstream(answer({}))])
/** Each configuration moves everything to new upstreams, and requests in flight stay with the old ones. */
function sectionsOf(version: number) {
  const idle_timeout_seconds = 100 + version
  return {
    upstreams: [
      ...Object.entries(CLOCKS).map(([name, clocks]) => ({
        name,
        endpoint: first.url,
        ...clocks,
        ...(name === 'stalling' ? {} : { idle_timeout_seconds }),
        context_window: 8192,
      })),
      {
        ...{ name: `second-${version}`, endpoint: second.url },
        ...{ ...CLOCKS.chat, context_window: 131_072 },
      },
    ],
    routes: Object.keys(CLOCKS).map((name) => ({
      name,
      strategy: 'primary_with_fallback',
      primary: name,
      fallback: [`second-${version}`],
      timeout_seconds: 200,
      retry: { max_attempts: 3, initial_delay_ms: 1, respect_retry_after: false },
    })),
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000 }],
    telemetry: { access_log: true },
  }
}

const replicas = await Replicas.start(3, sectionsOf(0), keysOf(['acme']))
after(() => Promise.all([replicas.stop(), first.close(), second.close()]))

function question(fault: string) {
  return {
    model: ROUTES[fault] ?? 'chat',
    messages: [{ role: 'user', content: `${'word '.repeat(random(60))}fault-${fault}` }],
    stream: random(2) === 0,
    max_tokens: 600,
  }
}

/** Tokens in the access logs of all processes. */
function logged(): { requests: number; tokens: number } {
  let [requests, tokens] = [0, 0]
  for (const { process } of replicas.fronts) {
    for (const line of process.output().split('\n')) {
      if (!line.includes('"event":"request"') || !line.endsWith('}')) continue
      const { path, prompt_tokens = 0, completion_tokens = 0 } = JSON.parse(line)
      if (path !== '/v1/chat/completions') continue
      requests++
      tokens += prompt_tokens + completion_tokens
    }
  }
  return { requests, tokens }
}

test(`${REQUESTS} requests through sixteen faults: log, store and upstreams agree to the token`, async (context) => {
  const statuses = new Map<number, number>()
  let begun = 0
  const client = async () => {
    while (begun < REQUESTS) {
      const fault = NAMES[begun % NAMES.length] as string
      const { status } = await replicas.ask(begun++, 'acme', question(fault))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const clients = Promise.all(Array.from({ length: AT_ONCE }, client))
  let version = 0
  while (begun < REQUESTS) {
    await replicas.apply(sectionsOf(++version))
    await delay(100)
  }
  await clients
  await untilIdle(replicas.front(0, 'acme'), 'acme')
  await until('every request is logged', () => logged().requests === REQUESTS)
  const { tokens_per_day: day } = await standing(replicas.front(1, 'acme'), 'acme')
  const { tokens } = logged()
  context.diagnostic(`${version} configurations, ${JSON.stringify(Object.fromEntries(statuses))}`)
  const figures = `events ${tokens}, settled ${day.used}, upstream ${books.tokens}`
  recordResult('books', figures, `${REQUESTS} requests, ${books.estimated} without usage`)
  assert.deepEqual([tokens, day.used], [books.tokens, books.tokens])
})
