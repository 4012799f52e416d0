/** Several keys of one upstream: a refused key rests, and its request goes on with another one. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  type Asked,
  errorOf,
  failing,
  type Reply,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'

const upstream = await startUpstream()
const env = Object.fromEntries(
  Array.from({ length: 12 }, (_, index) => [`KEY_${index}`, `secret-of-key-${index}`]),
)
const keysOf = (...indexes: readonly number[]) => indexes.map((index) => `\${env:KEY_${index}}`)
const shared = { endpoint: upstream.url, circuit_breaker: { failure_threshold: 2 } }
const names = ['turns', 'refused', 'quota', 'late', 'bounded', 'all']
const front = await startFront(
  {
    upstreams: names.map((name, index) => ({
      ...shared,
      name,
      api_key: keysOf(2 * index, 2 * index + 1),
    })),
    routes: names.map((name) => ({
      name,
      strategy: 'single',
      primary: name,
      ...(name === 'bounded' && { retry: { max_attempts: 1 } }),
    })),
  },
  { env },
)
after(() => Promise.all([front.process.stop(), upstream.close()]))
beforeEach(() => {
  upstream.asked.length = 0
})

const keyIn = ({ headers }: Asked) => Number(/-(\d+)$/.exec(headers.authorization ?? '')?.[1])
const sent = () => upstream.asked.map(keyIn)
/** Refuses some of the keys. */
const refusing =
  (refused: readonly number[], refusal: Reply): Reply =>
  (outgoing, asked) =>
    (refused.includes(keyIn(asked)) ? refusal : whole())(outgoing, asked)

async function shownKeys(name: string) {
  const { upstreams } = await front.admin('/status')
  const { keys, why } = upstreams.find((one: { name: string }) => one.name === name)
  return {
    why,
    states: keys.map(({ state, why: cause }: Record<string, string>) => cause ?? state),
  }
}

test('requests take the keys in turn', async () => {
  for (let round = 0; round < 4; round++) await front.chat({ model: 'turns' })
  assert.deepEqual(sent(), [0, 1, 0, 1])
  const series = 'gw_upstream_key_requests_total{upstream="turns",key="1"}'
  assert.equal(await front.value(series), 2)
})

test('a refused key rests, and the request goes on with another', async () => {
  upstream.reply = refusing([2], failing(401))
  const heard = await front.chat({ model: 'refused' })
  assert.deepEqual([heard.status, sent()], [200, [2, 3]])
  const { attempts } = await front.trace(heard)
  assert.deepEqual(
    attempts.map((one: Record<string, unknown>) => [one.outcome, one.api_key]),
    [
      ['credential', 0],
      ['ok', 1],
    ],
  )
  await front.chat({ model: 'refused' })
  await front.chat({ model: 'refused' })
  assert.deepEqual(sent(), [2, 3, 3, 3])
  assert.deepEqual(await shownKeys('refused'), { why: undefined, states: ['refused', 'ready'] })
  assert.equal(await front.value('gw_upstream_key_resting{upstream="refused",key="0"}'), 1)
  assert.doesNotMatch(front.process.output(), /secret-of-key/)
})

test('a key that is out of quota rests, and the request goes on with another', async () => {
  for (const [name, index, refusal] of [
    ['quota', 4, failing(429, { code: 'insufficient_quota' })],
    ['late', 6, failing(429, {}, { 'retry-after': '60' })],
  ] as const) {
    upstream.asked.length = 0
    upstream.reply = refusing([index], refusal)
    const { status } = await front.chat({ model: name })
    await front.chat({ model: name })
    assert.deepEqual([name, status, sent()], [name, 200, [index, index + 1, index + 1]])
    assert.deepEqual((await shownKeys(name)).states, ['out of quota', 'ready'])
  }
})

test('the attempts of the route bound the keys that a request tries', async () => {
  upstream.reply = refusing([8], failing(401))
  const { status } = await front.chat({ model: 'bounded' })
  assert.deepEqual([status, sent()], [502, [8]])
  assert.equal((await front.chat({ model: 'bounded' })).status, 200)
})

test('an upstream that refuses every key says so, and its breaker opens', async () => {
  upstream.reply = failing(401)
  const heard = await front.chat({ model: 'all' })
  assert.deepEqual([heard.status, sent()], [502, [10, 11]])
  assert.match(errorOf(heard).message, /refused the gateway's credential/)
  assert.equal((await shownKeys('all')).why, 'it refuses the credential of the gateway (401)')
  await front.chat({ model: 'all' })
  assert.match((await shownKeys('all')).why, /breaker is open/)
})
