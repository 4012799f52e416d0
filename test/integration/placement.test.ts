/** Requests of a tenant that requires labels go to no other upstream: in no strategy, fallback, repeat, API or auxiliary. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { aRandom } from '../helpers/random.ts'

const REQUESTS = 240
/** Each request of the tenant contains this text. */
const MARK = 'of-the-bank'
const random = aRandom(11)

/** Answers, refuses, or breaks off. */
const upstreams = await Promise.all(
  ['eu-1', 'eu-2', 'us-1', 'us-2'].map(async (name) => ({
    name,
    fake: await startUpstream((outgoing, asked) => {
      const fate = random(4)
      if (fate === 0) outgoing.destroy()
      else if (fate === 1) outgoing.writeHead(503).end('{}')
      else if (asked.path.endsWith('/embeddings'))
        outgoing.end(JSON.stringify({ data: [{ index: 0, embedding: [1, 0, random(9)] }] }))
      else return whole()(outgoing, asked)
      return undefined
    }),
  })),
)
const names = upstreams.map(({ name }) => name)
const members = { upstreams: names, retry: { max_attempts: 4, initial_delay_ms: 1 } }
const exemplars = { easy: ['hello'], hard: ['prove it'] }
const routes = [
  ...['round_robin', 'weighted', 'least_queue', 'fastest'].map((strategy) => ({
    name: strategy,
    strategy,
    ...members,
  })),
  {
    name: 'us-first',
    strategy: 'primary_with_fallback',
    primary: 'us-1',
    fallback: ['us-2', 'eu-1'],
  },
  {
    name: 'eu-first',
    strategy: 'primary_with_fallback',
    primary: 'eu-1',
    fallback: ['us-1', 'eu-2'],
  },
  {
    ...{ name: 'semantic', strategy: 'semantic' },
    semantic: {
      ...{ easy: 'eu-1', hard: 'us-1', classifier: 'embedding' },
      embedding: { upstream: 'us-2', exemplars },
    },
  },
  {
    ...{ name: 'nested', strategy: 'round_robin', fallback: ['us-2'] },
    upstreams: ['us-1', { route: 'us-first' }, { route: 'eu-first' }],
  },
  { name: 'us-only', strategy: 'single', primary: 'us-1' },
]
const front = await startFront({
  upstreams: upstreams.map(({ name, fake }) => ({
    ...{ name, endpoint: fake.url, weight: 25, native: ['responses', 'messages'] },
    labels: { region: name.slice(0, 2) },
  })),
  routes,
  tenants: [{ name: 'acme', requires: { region: 'eu' } }],
})
after(() => Promise.all([front.process.stop(), ...upstreams.map(({ fake }) => fake.close())]))

const CHAT = '/v1/chat/completions'
const CHAT_BODY = { messages: [{ role: 'user', content: MARK }] }
const APIS: [string, object][] = [
  [CHAT, CHAT_BODY],
  ['/v1/responses', { input: MARK }],
  ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: MARK }] }],
  ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: MARK }] }],
  ['/v1/completions', { prompt: MARK }],
  ['/v1/embeddings', { input: MARK }],
  ['/v1/conversations', { metadata: { note: MARK } }],
]

async function ask(path: string, model: string, body: object) {
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...body }),
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

test('no request of the tenant reaches an upstream without the labels', async () => {
  const sent: Promise<unknown>[] = []
  for (let turn = 0; turn < REQUESTS; turn++) {
    const [path, body] = APIS[random(APIS.length)] as [string, object]
    const { name } = routes[random(routes.length)] as { name: string }
    const stream = random(2) === 0 && path === CHAT ? { stream: true } : {}
    sent.push(ask(path, name, { ...body, ...stream }))
    if (turn % 8 === 7) await Promise.all(sent.splice(0))
  }
  await Promise.all(sent)
  const reached = upstreams.map(({ name, fake }) => [
    name,
    fake.asked.filter((asked) => JSON.stringify(asked.body).includes(MARK)).length,
  ])
  const counts = Object.fromEntries(reached)
  assert.deepEqual([counts['us-1'], counts['us-2']], [0, 0], JSON.stringify(counts))
  assert.ok(counts['eu-1'] > 10 && counts['eu-2'] > 10, JSON.stringify(counts))
})

test('a route without such an upstream is refused with the labels, and is not listed', async () => {
  const { status, text } = await ask(CHAT, 'us-only', CHAT_BODY)
  assert.equal(status, 403, text)
  assert.match(
    text,
    /No upstream of route \\"us-only\\" is one that the tenant may use: each lacks region=eu/,
  )
  const headers = { authorization: `Bearer ${front.key}` }
  const listed = await (await fetch(`${front.process.url}/v1/models`, { headers })).text()
  assert.deepEqual([listed.includes('us-first'), listed.includes('us-only')], [true, false])
})

test('the trace names the upstreams that were passed over for the labels', async () => {
  const heard = await ask(CHAT, 'us-first', CHAT_BODY)
  const trace = await front.admin(`/traces/${heard.headers.get('x-request-id')}`)
  const over = trace.passed_over.filter(({ why }: { why: string }) => why === 'lacks region=eu')
  assert.deepEqual(
    over.map(({ upstream }: { upstream: string }) => upstream),
    ['us-1', 'us-2'],
  )
})
