/**
 * No request of one client stalls other clients: their mean time during an attack is within a
 * multiple of the normal time.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { aKey } from '../../helpers/a-key.ts'
import type { Attack, Orders } from '../../helpers/attack-list.ts'
import { startGateway } from '../../helpers/gateway-process.ts'
import { startFakeUpstream } from './fake-upstream.ts'

const KEYS = {
  neighbour: aKey({ id: 'neighbour', tenant: 'neighbour' }),
  limited: aKey({ id: 'limited', tenant: 'limited' }),
  routeless: aKey({ id: 'routeless', tenant: 'routeless', routes: ['other'] }),
  scopeless: aKey({ id: 'scopeless', tenant: 'scopeless', scopes: ['models:list'] }),
  plain: aKey({ id: 'plain', tenant: 'plain' }),
}
const REQUESTS = 60
/** A stall of the event loop multiplies the time by hundreds; a busy machine by less. */
const TIMES_MAX = 15
/** Below this time a request is quick enough on any machine. */
const MS_MIN = 4

const upstream = await startFakeUpstream()
const gateway = await startGateway({
  env: { FRONT_CREDENTIAL: 'upstream-credential' },
  config: {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      upstreams: [
        {
          name: 'fake',
          provider: 'openai',
          endpoint: upstream.url,
          model: 'served',
          api_key: '${env:FRONT_CREDENTIAL}',
        },
      ],
      routes: ['chat', 'other'].map((name) => ({ name, strategy: 'single', primary: 'fake' })),
      api_keys: Object.values(KEYS).map(({ record }) => record),
      rate_limits: {
        default: { requests_per_minute: 100_000, burst: 20_000, concurrent_requests: 100 },
        tenants: [{ tenant: 'limited', requests_per_minute: 1, burst: 1 }],
      },
    },
  },
})
after(async () => {
  await gateway.stop()
  await upstream.close()
})

/** The mean, because a stall is rare and as long as hundreds of requests. */
async function meanMs(): Promise<number> {
  const began = performance.now()
  for (let count = 0; count < REQUESTS; count++) {
    const { status } = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${KEYS.neighbour.key}`,
      },
      body: '{"model":"chat","messages":[{"role":"user","content":"hi"}]}',
    }).then(async (answer) => {
      await answer.arrayBuffer()
      return answer
    })
    assert.equal(status, 200)
  }
  return (performance.now() - began) / REQUESTS
}

const ATTACKS: readonly Attack[] = [
  'a tenant above its rate sends lists of 8 MiB',
  'a key without the route sends lists of 8 MiB',
  'a key without scope sends lists of 8 MiB',
  'a key without the route sends texts of 8 MiB',
  'five bodies of 8 MiB of empty lists at once',
  'bodies of 4 MiB in chunks of one byte',
  'the same with a header that only Node accepts',
]

for (const attack of ATTACKS) {
  test(`other clients are served at once while ${attack}`, async (t) => {
    const quiet = Math.max(MS_MIN, await meanMs())
    const keys = Object.fromEntries(Object.entries(KEYS).map(([name, { key }]) => [name, key]))
    const isOn = new Int32Array(new SharedArrayBuffer(4)).fill(1)
    const orders: Orders = { attack, url: gateway.url, keys, isOn }
    const attacker = new Worker(new URL('../../bench/attacker.ts', import.meta.url), {
      workerData: orders,
    })
    await once(attacker, 'online')
    const under = await meanMs()
    await attacker.terminate()
    t.diagnostic(`mean ${quiet.toFixed(1)} ms without, ${under.toFixed(1)} ms with`)
    assert.ok(under < quiet * TIMES_MAX, `${under} ms with it, ${quiet} ms without`)
  })
}
