/** Endpoints that an operator sends to a pod: signed, in order, within bounds, and kept for the next start. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { EndpointsDocument } from '../../dataplane/delivery/signed.ts'
import { aKey } from '../helpers/a-key.ts'
import { type FakeUpstream, startUpstream, streaming, whole } from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  aSigner,
  makeMounts,
  mountBundle,
  type PodProcess,
  removeMounts,
  signed,
  startPod,
  UID,
} from './pod.ts'

const hosts = ['127.0.0.2', '127.0.0.3'] as const
const port = await freePort()
const replicas = new Map<string, FakeUpstream>()
for (const host of hosts) replicas.set(host, await startUpstream(whole(host), { host, port }))
/** The endpoints of a Service's name. */
replicas.set('localhost', await startUpstream(whole('localhost'), { host: '127.0.0.1', port }))

const { key, record } = aKey({ id: 'client' })
const configuration = aConfiguration(
  {
    upstreams: [
      { name: 'chat', endpoint: 'http://chat.models.svc:8000', endpoints: 'pods' },
      { name: 'named', endpoint: `http://localhost:${port}`, endpoints: 'pods' },
      {
        ...{ name: 'asleep', endpoint: 'http://asleep.models.svc:8000', endpoints: 'pods' },
        cold_start: {},
      },
      {
        ...{ name: 'pooled', provider: 'vllm', endpoint: undefined, endpoints: 'pool' },
        ...{ pool: { name: 'vllm', namespace: 'models' }, prefer_zone: true },
      },
    ],
    routes: ['chat', 'named', 'asleep', 'pooled'].map((name) => ({
      ...{ name, strategy: 'single', primary: name },
    })),
  },
  { sequence: 1 },
)

type Lists = EndpointsDocument['upstreams']

const chat = (...ids: readonly (readonly [id: string, address: string])[]): Lists => [
  { name: 'chat', endpoints: ids.map(([id, address]) => ({ id, address, port })) },
]

function endpoints(upstreams: Lists, sequence: number, uid = UID): EndpointsDocument {
  const gateway = { uid, namespace: 'ai', name: 'production' }
  return { kind: 'Endpoints', gateway, sequence, upstreams }
}

const mounts = await makeMounts()
await mountBundle(mounts, 'config.json', signed(mounts, configuration))
await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 1 })))
const start = async () => await startPod({ mounts, key, keeps: true })
let pod: PodProcess = await start()
after(async () => {
  await pod.process.stop()
  for (const server of replicas.values()) await server.close()
  await removeMounts(mounts)
})

const push = (document: EndpointsDocument) => pod.push(document)

async function answeredBy(requests: number, model = 'chat'): Promise<readonly string[]> {
  const seen = new Set<string>()
  for (let count = 0; count < requests; count++) {
    const { status, text } = await pod.chat({ model })
    assert.equal(status, 200, text)
    seen.add(JSON.parse(text).choices[0].message.content)
  }
  return [...seen].sort()
}

test('requests go to the pushed addresses, although the name does not resolve', async () => {
  const { status, body } = await push(endpoints(chat(['a', hosts[0]], ['b', hosts[1]]), 10))
  assert.deepEqual([status, body.sequence, body.count], [200, 10, 2])
  assert.deepEqual(await answeredBy(6), hosts)
})

test('a removed address gets no more requests', async () => {
  await push(endpoints(chat(['b', hosts[1]]), 11))
  assert.deepEqual(await answeredBy(6), [hosts[1]])
})

test('older endpoints, and other ones of the same sequence, are refused with the current sequence', async () => {
  for (const sequence of [10, 11]) {
    const { status, body } = await push(endpoints(chat(['a', hosts[0]]), sequence))
    assert.deepEqual([status, body.have], [409, 11])
  }
  assert.deepEqual(await answeredBy(3), [hosts[1]])
})

test('endpoints from another signer or for another gateway are refused', async () => {
  const forged = endpoints(chat(['x', '127.0.0.9']), 99)
  const stranger = { ...mounts, signer: aSigner() }
  assert.equal((await pod.put('/endpoints', signed(stranger, forged))).status, 403)
  const other = endpoints(chat(['x', '127.0.0.9']), 99, 'another-uid')
  assert.equal((await push(other)).status, 403)
  assert.deepEqual(await answeredBy(3), [hosts[1]])
})

test('more endpoints than allowed are refused with their number', async () => {
  const many = (count: number) =>
    Array.from(
      { length: count },
      (_, index) => [`id ${index}`, `10.0.${index >> 8}.${index & 255}`] as const,
    )
  const { status, body } = await push(endpoints(chat(...many(257)), 12))
  assert.equal(status, 422)
  assert.match(String(body.message), /"chat" has 257 endpoints; 256 are the most/)
  const lists = Array.from({ length: 9 }, (_, index) => ({
    name: `u${index}`,
    endpoints: many(250).map(([id, address]) => ({ id, address, port })),
  }))
  assert.match(String((await push(endpoints(lists, 12))).body.message), /2250 endpoints; 2000 are/)
})

const pooled = (...placed: readonly (readonly [address: string, zone?: string])[]): Lists => [
  ...chat(['b', hosts[1]]),
  {
    name: 'pooled',
    endpoints: placed.map(([address, zone]) => ({
      ...{ id: `${address} ${port}`, address, port },
      ...(zone !== undefined && { zone }),
    })),
  },
]

test('a pool without endpoints is unavailable, and its pods get requests once they are pushed', async () => {
  const refused = await pod.chat({ model: 'pooled' })
  assert.equal(refused.status, 503)
  assert.match(refused.text, /ERR_GW_NO_HEALTHY_UPSTREAM/)
  await push(endpoints(pooled([hosts[0]], [hosts[1]]), 13))
  assert.deepEqual(await answeredBy(6, 'pooled'), hosts)
  assert.equal(replicas.get(hosts[0])?.asked.at(-1)?.headers.host, 'vllm.models.inferencepool')
})

test('endpoints that the operator does not currently know stay unchanged', async () => {
  const lists = pooled()
  await push({ ...endpoints([], 14), unknown: ['pooled', 'chat'] })
  assert.deepEqual(await answeredBy(6, 'pooled'), hosts)
  await push(endpoints(lists, 15))
  assert.equal((await pod.chat({ model: 'pooled' })).status, 503)
})

test("endpoints in the pod's own zone come first, if the operator sends zones", async () => {
  const lists = pooled([hosts[0], 'a'], [hosts[1], 'b'])
  await push({ ...endpoints(lists, 16), zones: { 'production-1': 'b' } })
  assert.deepEqual(await answeredBy(6, 'pooled'), [hosts[1]])
  await push(endpoints(lists, 17))
  assert.deepEqual(await answeredBy(6, 'pooled'), hosts)
})

test('a hundred streams finish at a removed endpoint, and no new request starts there', async () => {
  const first = replicas.get(hosts[0]) ?? assert.fail('no replica has this host')
  const held = Promise.withResolvers<void>()
  first.reply = streaming({ hold: held.promise })
  await push(endpoints(chat(['a', hosts[0]]), 18))
  const before = first.asked.length
  const asked = Array.from({ length: 100 }, () => pod.stream({ model: 'chat' }))
  await until('all streams are there', () => first.asked.length === before + 100)
  await push(endpoints(chat(['b', hosts[1]]), 19))
  assert.deepEqual(await answeredBy(10), [hosts[1]])
  assert.equal(first.asked.length, before + 100)
  held.resolve()
  const heard = await Promise.all(asked)
  const ended = heard.filter(({ text, cut }) => !cut && text.includes('[DONE]'))
  assert.equal(ended.length, 100)
  first.reply = whole(hosts[0])
})

test("if every listed endpoint is gone, the Service's name is the last resort", async () => {
  const stale = { name: 'named', endpoints: [{ id: 'gone', address: '127.0.0.9', port }] }
  await push(endpoints([...chat(['b', hosts[1]]), stale], 20))
  assert.deepEqual(await answeredBy(3, 'named'), ['localhost'])
})

test('gw upstream test reaches the pods of a pool, and reports a pool without pods', async () => {
  const ask = async () => {
    const { adminUrl, adminHeaders: headers } = pod.process
    const answer = await fetch(`${adminUrl}/upstreams/test?name=pooled`, {
      method: 'POST',
      headers,
    })
    return JSON.parse(await answer.text()).upstreams[0]
  }
  await push(endpoints(pooled([hosts[0]], [hosts[1]]), 21))
  assert.ok((await ask()).ok)
  await push(endpoints(pooled(), 22))
  assert.match(JSON.stringify(await ask()), /the operator has sent no endpoint/)
})

test('a restarted pod uses the mounted endpoints, without an operator', async () => {
  await pod.process.stop()
  const document = endpoints(chat(['a', hosts[0]]), 30)
  await mountBundle(mounts, 'endpoints.json', signed(mounts, document))
  pod = await start()
  assert.deepEqual(await answeredBy(3), [hosts[0]])
})

test('a Service without ready pods holds requests, and its first pod gets them', async () => {
  const none = [...chat(['a', hosts[0]]), { name: 'asleep', endpoints: [] }]
  await push(endpoints(none, 30))
  const asked = pod.ask({ model: 'asleep' })
  const isWaiting = async () => (await pod.value('gw_upstream_waiting{upstream="asleep"}')) === 1
  await until('it waits', isWaiting)
  const one = { name: 'asleep', endpoints: [{ id: 'new', address: hosts[1], port }] }
  await push(endpoints([...chat(['a', hosts[0]]), one], 31))
  const heard = await asked.over
  assert.equal(JSON.parse(heard.text).choices[0].message.content, hosts[1])
  // Nothing was dialled before there was a pod.
  assert.equal((await pod.trace(heard)).attempts.length, 1)
})

test('a Service without an available pod: explain predicts the 503, and the health is unknown', async () => {
  await push(endpoints([{ name: 'chat', endpoints: [] }], 40))
  const { verdict, upstreams } = await pod.admin('/explain?model=chat')
  assert.deepEqual([verdict.status, verdict.code], [503, 'ERR_GW_NO_HEALTHY_UPSTREAM'])
  assert.match(
    verdict.message,
    /No pod takes requests .*\(chat\): their Services have no ready pod/,
  )
  assert.deepEqual(
    [upstreams[0].health, upstreams[0].why],
    ['unknown', 'no pod of its Service takes requests'],
  )
  const gauge = async () => (await pod.series()).get('gw_upstream_healthy{upstream="chat"}')
  assert.equal(await gauge(), undefined)
  await push(endpoints(chat(['b', hosts[1]]), 41))
  assert.equal((await pod.admin('/explain?model=chat')).verdict.status, 200)
  assert.equal(await gauge(), 1)
})
