/** Fallbacks behind every strategy, and routes as members of routes. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  failing,
  type Heard,
  startFront,
  startUpstream,
  streaming,
} from '../helpers/fake-upstream.ts'

const upstream = await startUpstream()
const member = (name: string) => ({ name, model: name, endpoint: upstream.url, max_queue_depth: 9 })
const front = await startFront({
  upstreams: ['a', 'b', 'c', 'd', 'e'].map(member),
  routes: [
    { name: 'pair', strategy: 'round_robin', upstreams: ['a', 'b'], fallback: ['c'] },
    {
      name: 'strict',
      strategy: 'round_robin',
      upstreams: ['a', 'b'],
      fallback: ['c'],
      overflow: { on_timeout: 'fallback' },
    },
    { name: 'other', strategy: 'round_robin', upstreams: ['d', 'e'] },
    {
      name: 'groups',
      strategy: 'single',
      upstreams: [{ route: 'pair' }],
      fallback: [{ route: 'other' }],
    },
    { name: 'cheap', strategy: 'cheapest', upstreams: ['a', 'b', 'c'] },
    { name: 'fast', strategy: 'fastest', upstreams: ['a', 'b', 'c'] },
    {
      name: 'shares',
      strategy: 'weighted',
      upstreams: [
        { route: 'pair', weight: 0 },
        { route: 'other', weight: 100 },
      ],
    },
  ],
  pricing: [
    { model: 'a', input: 5, output: 5 },
    { model: 'b', input: 1, output: 1 },
  ],
  limits: [{ name: 'inner', for: { route: 'pair' }, requests_per_minute: 1, burst: 1 }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

async function tried(answer: Heard): Promise<string[]> {
  const { attempts } = await front.trace(answer)
  return attempts.map(({ upstream: name, via }: { upstream: string; via?: string }) =>
    via === undefined ? name : `${via} > ${name}`,
  )
}

test('a balanced group is tried to its end, and then its fallback answers', async () => {
  upstream.script.push(failing(500), failing(500))
  const answer = await front.chat({ model: 'pair' })
  assert.equal(answer.status, 200)
  const names = await tried(answer)
  assert.deepEqual([names.slice(0, 2).sort(), names[2]], [['a', 'b'], 'c'])
  assert.equal(await front.value('gw_overflow_total{route="pair",reason="upstream_error"}'), 1)
})

test('a group leaves for its fallback only for the reasons of overflow', async () => {
  upstream.script.push(failing(500), failing(500))
  const answer = await front.chat({ model: 'strict' })
  assert.equal(answer.status, 502)
  assert.deepEqual((await tried(answer)).sort(), ['a', 'b'])
})

test('a group of routes goes through the fallback of the inner route to the outer one', async () => {
  upstream.script.push(...Array.from({ length: 4 }, () => failing(500)))
  const answer = await front.chat({ model: 'groups' })
  assert.equal(answer.status, 200)
  const names = await tried(answer)
  assert.deepEqual(names.slice(0, 2).sort(), ['groups > pair > a', 'groups > pair > b'])
  assert.equal(names[2], 'groups > pair > c')
  assert.deepEqual(names.slice(3).sort(), ['groups > other > d', 'groups > other > e'])
})

test('the inner route takes turns, and its weight is that of its entry', async () => {
  const served = new Map<string, number>()
  for (let turn = 0; turn < 4; turn++) {
    const { headers } = await front.chat({ model: 'shares' })
    const name = String(headers['x-gw-upstream'])
    served.set(name, (served.get(name) ?? 0) + 1)
  }
  assert.deepEqual([...served].sort(), [
    ['d', 2],
    ['e', 2],
  ])
})

test('a route with a weight of 0 gets nothing, even after another one failed', async () => {
  upstream.script.push(failing(500))
  const answer = await front.chat({ model: 'shares' })
  assert.equal(answer.status, 502)
  assert.match((await tried(answer)).join(), /^shares > other > [de]$/)
})

test('limits are those of the route that the client names', async () => {
  for (let request = 0; request < 3; request++)
    assert.equal((await front.chat({ model: 'groups' })).status, 200)
})

test('the cheapest upstream answers, and the fastest route serves', async () => {
  for (let request = 0; request < 3; request++) {
    const { headers } = await front.chat({ model: 'cheap' })
    assert.equal(headers['x-gw-upstream'], 'b')
  }
  upstream.script.push(streaming())
  assert.equal((await front.stream({ model: 'fast' })).status, 200)
})

test('explain shows the groups and what follows them', async () => {
  const { text, verdict } = await front.admin('/explain?model=groups')
  assert.match(text, /upstream: always route pair \(round_robin over a, b, c\)/)
  assert.match(text, /fallback 1: route other \(round_robin over d, e\)/)
  assert.match(text, /attempts: 5 in all \(each upstream once\)/)
  assert.equal(verdict.status, 200)
})
