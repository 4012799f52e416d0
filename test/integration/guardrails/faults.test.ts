/**
 * A sidecar refuses, hangs, resets, returns nonsense, drips or fails: `on_error` decides in time,
 * and the request releases everything.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  refusingUrl,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'

/** The behaviour of a sidecar, and how its verdict is counted. */
const FAULTS: Readonly<Record<string, readonly [(outgoing: ServerResponse) => void, string]>> = {
  refuses: [() => {}, 'error'],
  hangs: [() => {}, 'timeout'],
  resets: [(outgoing) => outgoing.destroy(), 'error'],
  babbles: [(outgoing) => outgoing.end('<html>not what was asked</html>'), 'error'],
  evades: [(outgoing) => outgoing.end('{"action":"perhaps"}'), 'error'],
  fails: [(outgoing) => outgoing.writeHead(500).end('{}'), 'error'],
  drips: [
    (outgoing) => {
      outgoing.writeHead(200)
      const timer = setInterval(() => outgoing.write(' '), 20)
      outgoing.on('close', () => clearInterval(timer))
    },
    'timeout',
  ],
}
const TIMEOUT_MS = 150

/** The first part of a path is the fault. */
const server = createServer((incoming, outgoing) => {
  const [, fault = ''] = incoming.url?.split('/') ?? []
  incoming.resume().on('end', () => FAULTS[fault]?.[0](outgoing))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const refusing = await refusingUrl()

const cells = Object.entries(FAULTS).flatMap(([fault, [, verdict]]) =>
  (['input', 'output'] as const).flatMap((stage) =>
    (['allow', 'block'] as const).map((on_error) => ({
      ...{ fault, verdict, stage, on_error },
      name: `${fault}-${stage}-${on_error}`,
    })),
  ),
)
const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  rate_limits: { default: { requests_per_minute: 100_000 } },
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000 }],
  guardrails: [
    ...cells.map(({ name, fault, stage, on_error }) => ({
      ...{ name, stage, on_error, timeout_ms: TIMEOUT_MS },
      endpoint: fault === 'refuses' ? refusing : `${url}/${fault}`,
    })),
    { name: 'patient', endpoint: `${url}/hangs`, timeout_ms: 60_000 },
  ],
  routes: [...cells, { name: 'patient' }].map(({ name }) => ({
    ...{ name, strategy: 'single', primary: 'up', guardrails: [name], max_tokens_default: 100 },
  })),
})
after(async () => {
  await front.process.stop()
  server.closeAllConnections()
  server.close()
  await upstream.close()
})
beforeEach(() => {
  upstream.asked.length = 0
})

/** Slots, holds and requests in flight that are not released. */
async function left(): Promise<unknown> {
  const { concurrent_requests, budget_tokens } = await front.admin('/limits/acme')
  const series = await front.series()
  const inFlight = [...series].filter(([name, value]) => /in_flight/.test(name) && value > 0)
  return [concurrent_requests.used, budget_tokens?.reserved ?? 0, inFlight]
}
const NOTHING = [0, 0, []]

for (const { name, verdict, stage, on_error } of cells) {
  for (const stream of [false, true]) {
    test(`${name}: ${stream ? 'a stream' : 'a whole answer'} follows on_error`, async () => {
      upstream.reply = stream ? streaming({ words: ['hello'] }) : whole('hello')
      const heard = await front.ask({ model: name, stream }).over
      const trace = await front.trace(heard)
      const [judgement] = trace.guardrails
      assert.partialDeepStrictEqual(judgement, { name, side: stage, verdict })
      if (verdict === 'timeout') assert.ok(judgement.ms >= TIMEOUT_MS - 5, `${judgement.ms} ms`)
      if (on_error === 'allow') {
        assert.equal(heard.status, 200, heard.text)
        const said = stream ? wordsOf(heard) : JSON.parse(heard.text).choices[0].message.content
        assert.equal(said, 'hello')
      } else {
        assert.equal(heard.status, 503, heard.text)
        assert.equal(errorOf(heard).code, 'ERR_GW_AUXILIARY_UNAVAILABLE')
        assert.equal(heard.headers['retry-after'], '1')
        assert.doesNotMatch(heard.text, /127\.0\.0\.1|ECONN|hello/)
        assert.equal(upstream.asked.length, stage === 'input' ? 0 : 1)
      }
      await until('nothing is held', async () => {
        assert.deepEqual(await left(), NOTHING)
        return true
      })
      const labels = `kind="guardrail",name="${name}",outcome="${verdict}"`
      assert.ok((await front.value(`gw_auxiliary_requests_total{${labels}}`)) >= 1)
      const took = `gw_auxiliary_duration_seconds_count{kind="guardrail",name="${name}"}`
      assert.ok((await front.value(took)) >= 1)
    })
  }
}

test('a client that disconnects while a sidecar works leaves nothing held', async () => {
  const asking = front.ask({ model: 'patient' })
  asking.head.catch(() => {})
  await until('its slot is taken', async () => {
    const { concurrent_requests } = await front.admin('/limits/acme')
    return concurrent_requests.used === 1
  })
  asking.leave()
  await until('its slot is given back', async () => {
    const { concurrent_requests } = await front.admin('/limits/acme')
    return concurrent_requests.used === 0
  })
})
