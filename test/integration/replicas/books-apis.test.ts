/**
 * Accounting of two processes over every API: upstreams, budgets and usage rows agree in tokens and
 * money, despite faults.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { cases } from '../../helpers/cases.ts'
import {
  type Asked,
  event,
  Front,
  failing,
  type Reply,
  startUpstream,
} from '../../helpers/fake-upstream.ts'
import { aRandom } from '../../helpers/random.ts'
import { startReceiver } from '../../helpers/telemetry/usage-receiver.ts'
import { until } from '../../helpers/until.ts'
import { keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

type Fields = Readonly<Record<string, unknown>>

const REQUESTS = cases(600, 10_000)
const AT_ONCE = 48
const PROMPT = 7

/** USD per million tokens, which is also thousands of nano-dollars a token. */
const PRICES = [
  { model: 'dear', input: 10, output: 20 },
  { model: 'cheap', input: 1, output: 2 },
]
const random = aRandom(20_261_122)
const books = { tokens: 0, nanos: 0 }

function note({ body }: Asked, completion: number): Fields {
  const price = PRICES.find(({ model }) => model === body.model)
  books.tokens += PROMPT + completion
  books.nanos += 1000 * (PROMPT * (price?.input ?? 0) + completion * (price?.output ?? 0))
  return { prompt_tokens: PROMPT, completion_tokens: completion, total_tokens: PROMPT + completion }
}

const FATES = ['good', 'good', 'good', 'fails', 'resets', 'cut', 'left'] as const
type Fate = (typeof FATES)[number]

/** The prompt tells the upstream how the request ends and how many words its answer has. */
function orderOf({ body }: Asked) {
  const [, fate = 'good', words = '1'] = /fate-(\w+)-(\d+)/.exec(JSON.stringify(body)) ?? []
  return { fate: fate as Fate, words: Number(words) }
}

function wholeOf(asked: Asked, words: number): Fields {
  const usage = note(asked, /embeddings|rerank/.test(asked.path) ? 0 : words)
  const text = 'wW '.repeat(words)
  if (asked.path.endsWith('rerank'))
    return { id: 'r', model: 'm', results: [{ index: 0, relevance_score: 0.5 }], usage }
  if (asked.path.endsWith('transcriptions')) {
    const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usage
    return { text, usage: { ...usage, type: 'tokens', input_tokens, output_tokens } }
  }
  if (asked.path.endsWith('embeddings'))
    return { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1] }], usage }
  if (asked.path.endsWith('chat/completions')) {
    const message = { role: 'assistant', content: text }
    return { id: 'c', created: 1, choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
  }
  const choices = [{ index: 0, text, logprobs: null, finish_reason: 'stop' }]
  return { id: 'c', object: 'text_completion', created: 1, choices, usage }
}

/** Usage grows with the words, so that a stream that ends early is counted too. */
async function streamOf(asked: Asked, words: number, fate: Fate, outgoing: Parameters<Reply>[0]) {
  const isChat = asked.path.endsWith('chat/completions')
  const object = isChat ? 'chat.completion.chunk' : 'text_completion'
  const choiceOf = (text: string, finish_reason: string | null) =>
    isChat
      ? { index: 0, delta: { content: text }, finish_reason }
      : { index: 0, text, logprobs: null, finish_reason }
  const usage = note(asked, words)
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let sent = 1; sent <= words; sent++) {
    const counted = { ...usage, completion_tokens: sent, total_tokens: PROMPT + sent }
    outgoing.write(event({ id: 'c', object, choices: [choiceOf('wW ', null)], usage: counted }))
  }
  if (fate === 'left') return
  if (fate === 'cut') {
    // Node buffers writes until the next turn of the event loop, and would lose them.
    await turn()
    outgoing.socket?.destroySoon()
    return
  }
  outgoing.write(event({ id: 'c', object, choices: [choiceOf('', 'stop')] }))
  outgoing.end(`${event({ id: 'c', object, choices: [], usage })}data: [DONE]\n\n`)
}

const faulty: Reply = async (outgoing, asked) => {
  const { fate, words } = orderOf(asked)
  if (fate === 'fails') return await failing(500)(outgoing, asked)
  if (fate === 'resets') return void outgoing.socket?.resetAndDestroy()
  await answer(outgoing, asked, fate, words)
}

async function answer(outgoing: Parameters<Reply>[0], asked: Asked, fate: Fate, words: number) {
  if (asked.body.stream === true) return await streamOf(asked, words, fate, outgoing)
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify(wholeOf(asked, words)))
}

const first = await startUpstream(faulty)
const second = await startUpstream((outgoing, asked) =>
  answer(outgoing, asked, 'good', orderOf(asked).words),
)
const receiver = await startReceiver()
/** A runtime that supports all operations. */
const upstream = (name: string, endpoint: string) => ({
  name,
  endpoint,
  provider: 'vllm',
  embeddings: { model: 'one' },
})
const folder = await mkdtemp(join(tmpdir(), 'gw-books-'))
const replicas = await Replicas.start(
  2,
  {
    upstreams: [
      { ...upstream('first', first.url), model: 'dear' },
      { ...upstream('second', second.url), model: 'cheap' },
    ],
    routes: [
      {
        name: 'chat',
        strategy: 'primary_with_fallback',
        primary: 'first',
        fallback: ['second'],
        retry: { max_attempts: 2, initial_delay_ms: 1 },
      },
    ],
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000, spend_per_month_usd: 1_000_000 }],
    pricing: PRICES,
    usage: {
      sinks: {
        // Both processes write to one file.
        file: { path: join(folder, 'usage.jsonl') },
        webhook: { webhook_url: receiver.url },
        otlp: { otlp_endpoint: receiver.url },
      },
    },
  },
  keysOf(['acme']),
)
after(async () => {
  await Promise.all([replicas.stop(), first.close(), second.close(), receiver.close()])
  await rm(folder, { recursive: true })
})

/** A request of each API, around its prompt. */
const APIS: Readonly<Record<string, (prompt: string) => Fields>> = {
  '/v1/chat/completions': (content) => ({ messages: [{ role: 'user', content }], max_tokens: 50 }),
  '/v1/messages': (content) => ({ messages: [{ role: 'user', content }], max_tokens: 50 }),
  '/v1/responses': (input) => ({ input, max_output_tokens: 50 }),
  '/v1/completions': (prompt) => ({ prompt, max_tokens: 50 }),
  '/v1/embeddings': (input) => ({ input }),
  '/v1/rerank': (query) => ({ query, documents: ['one'] }),
  '/v1/audio/transcriptions': (prompt) => ({ prompt }),
}
const FORM = '/v1/audio/transcriptions'
const STREAMLESS = ['/v1/embeddings', '/v1/rerank', FORM]
const PATHS = Object.keys(APIS)

/** With a recording of one second, before the texts. */
function formOf(texts: Fields): string {
  const file = { name: 'file"; filename="a.mp3', value: 'x'.repeat(4000) }
  const all = [file, ...Object.entries(texts).map(([name, value]) => ({ name, value }))]
  const parts = all.map(
    ({ name, value }) =>
      `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return `${parts.join('')}--edge--\r\n`
}

/** How it ended; a client that disconnects does so after it has received all words. */
function ask(index: number): Promise<string> {
  const path = PATHS[index % PATHS.length] as string
  const fate = FATES[random(FATES.length)] as Fate
  const words = 1 + random(12)
  const stream = !STREAMLESS.includes(path) && (fate === 'left' || random(2) === 0)
  const body = {
    ...APIS[path]?.(`fate-${fate}-${words}`),
    model: 'chat',
    ...(stream && { stream }),
  }
  const { process, key } = replicas.front(index, 'acme')
  return new Promise((resolve, reject) => {
    const outgoing = request(process.url + path, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': path === FORM ? 'multipart/form-data; boundary=edge' : 'application/json',
      },
    })
    let leaving = false
    outgoing.on('error', (error) => (leaving ? resolve('left') : reject(error)))
    outgoing.on('response', (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        leaving ||= fate === 'left' && stream && text.split('"wW "').length > words
        if (leaving) outgoing.destroy()
      })
      // To Node a cut answer is an error, and `close` is emitted in any case.
      incoming.on('error', () => {})
      incoming.on('close', () => {
        const how = incoming.complete ? '' : ' cut'
        resolve(leaving ? 'left' : `${incoming.statusCode}${how}`)
      })
    })
    outgoing.end(path === FORM ? formOf(body) : JSON.stringify(body))
  })
}

test(`${REQUESTS} requests of every API with faults and disconnecting clients: the difference is 0`, async (context) => {
  const ends = new Map<string, number>()
  const served = new Set<string>()
  let begun = 0
  const client = async () => {
    while (begun < REQUESTS) {
      const index = begun++
      const end = await ask(index)
      if (end === '200') served.add(PATHS[index % PATHS.length] as string)
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  await untilIdle(replicas.front(0, 'acme'), 'acme')
  const { tokens_per_day: day, spend_per_month_usd: month } = await standing(
    replicas.front(1, 'acme'),
    'acme',
  )
  context.diagnostic(`${JSON.stringify(Object.fromEntries(ends))}, ${books.tokens} tokens`)
  assert.deepEqual([...served].toSorted(), PATHS.toSorted())
  assert.equal(day.used, books.tokens)
  assert.equal(Math.round(Number(month.used) * 1e9), books.nanos)
  for (const index of [0, 1])
    assert.deepEqual(await reported(index, REQUESTS), { ...books, requests: REQUESTS })
  let cost = 0
  for (const { process } of replicas.fronts)
    cost += (await new Front(process, '').value('gw_tenant_cost_usd_total{tenant="acme"}')) * 1e9
  assert.equal(Math.round(cost), books.nanos)
  let lines: Event[] = []
  await until('every event has arrived', async () => {
    lines = (await eventLines()).map((line) => JSON.parse(line) as Event)
    const arrived = [lines.length, receiver.posted.size, receiver.records.size]
    return new Set(arrived).size === 1 && sumOf(lines).tokens === books.tokens
  })
  for (const facts of [lines, [...receiver.posted.values()], [...receiver.records.values()]]) {
    const { length: attempts } = facts
    assert.deepEqual({ ...sumOf(facts), attempts }, { ...books, attempts: lines.length })
  }
  assert.equal(new Set(lines.map(({ id }) => id)).size, lines.length)
})

async function eventLines(): Promise<string[]> {
  const text = await readFile(join(folder, 'usage.jsonl'), 'utf8')
  return text.split('\n').filter((line) => line !== '')
}

interface Facts {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost_nano_usd: number
}

interface Event extends Facts {
  readonly id: string
}

function sumOf(events: readonly Facts[]) {
  let [tokens, nanos] = [0, 0]
  for (const { input_tokens, output_tokens, cost_nano_usd } of events) {
    tokens += input_tokens + output_tokens
    nanos += cost_nano_usd
  }
  return { tokens, nanos }
}

/**
 * The sum of both processes, as one of them shows it after both have counted their last request.
 */
async function reported(index: number, most: number) {
  let sum = { tokens: 0, nanos: 0, requests: 0 }
  await until('all requests are in the shared rows', async () => {
    const { kept_in, rows } = await replicas.front(index, 'acme').admin('/usage?by=tenant,model')
    assert.equal(kept_in, 'redis')
    const total = (...names: string[]) =>
      names.reduce(
        (all, name) => rows.reduce((one: number, row: Row) => one + Number(row[name]), all),
        0,
      )
    sum = {
      tokens: total('input_tokens', 'output_tokens'),
      nanos: total('cost_nano_usd'),
      requests: total('requests'),
    }
    return sum.requests >= most
  })
  return sum
}

type Row = Readonly<Record<string, unknown>>
