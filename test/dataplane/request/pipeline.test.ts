/** The life of a request by values: at every exit nothing stays held, and usage is charged once. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openAiWire } from '../../../dataplane/apis/openai/wire.ts'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import type { BodyTaker } from '../../../dataplane/call/call.ts'
import type { PoolHandler } from '../../../dataplane/connection/http1/contract.ts'
import { handle, type Work } from '../../../dataplane/request/pipeline.ts'
import { serve } from '../../../dataplane/request/visit.ts'
import { aCall } from '../an-answer.ts'
import { assemble } from '../assembled-gateway.ts'
import { headed } from '../headed.ts'

const KEY = { id: 'k', tenant: 'acme', routes: ['chat'], hash: `sha256:${hash('sha256', 'key')}` }
const UPSTREAM = {
  name: 'up',
  provider: 'openai',
  native: [],
  endpoint: 'http://127.0.0.1:1',
  model: 'm',
}
const CONFIG = {
  upstreams: [{ ...UPSTREAM, context_window: 1_000 }],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'up' },
    { name: 'other', strategy: 'single', primary: 'up' },
  ],
  api_keys: [KEY],
  rate_limits: { default: { concurrent_requests: 1, requests_per_minute: 600, burst: 100 } },
}
const HEADERS = { authorization: 'Bearer key', 'content-type': 'application/json' }
const BODY = { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] }
const ANSWER = JSON.stringify({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, message: { content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
})

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | string
  /** The body is still to come. */
  readonly late?: boolean
  readonly work?: Work
}

/** One gateway, which gets requests one after the other. */
function aGateway() {
  const { gateway, clock, lines } = assemble(CONFIG)
  const asked: PoolHandler[] = []
  let ids = 0
  const controller = { abort() {}, pause() {}, resume() {} }
  const dispatch = (_: unknown, handler: PoolHandler) => {
    asked.push(handler)
    handler.onRequestStart(controller)
  }
  for (const { targets } of gateway.active.lanes.values())
    for (const { state } of targets) Object.defineProperty(state, 'pool', { value: { dispatch } })
  return {
    gateway,
    lines,
    async send({ headers = HEADERS, body = BODY, late = false, work }: Sent = {}) {
      const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
      let taker: BodyTaker | undefined
      const incoming = {
        ...headed(headers),
        takeWhole: () => (late ? undefined : bytes),
        takeBody: (one: BodyTaker) => {
          taker = one
        },
      }
      const { call, heard } = aCall(incoming, clock.now())
      const done = serve({ ...call, id: `r-${++ids}` }, gateway, [], {
        method: 'POST',
        path: '/v1/chat/completions',
        summary: '',
        wire: openAiWire,
        run: (visit) => handle(visit, openAiChatDialect, work),
      })
      await turn()
      const leaves = () => {
        heard.listener.closed()
        taker?.broken(new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.'))
      }
      return { heard, done, leaves }
    },
    /** The upstream answers the last attempt. */
    answers(status: number, body: string) {
      const handler = asked.at(-1) ?? assert.fail('Nothing was sent.')
      handler.onResponseStart(controller, status, { 'content-type': 'application/json' })
      handler.onResponseData(controller, Buffer.from(body))
      handler.onResponseEnd()
    },
    pass(ms: number) {
      clock.pass(ms)
      gateway.deadlines.sweep()
    },
    async held() {
      const rules = gateway.active.snapshot.limits.rules.of('acme')
      const { concurrency } = await gateway.store.read('acme', rules)
      const inFlight = gateway.metrics.inFlight.at('chat').value
      return { bodies: gateway.bodies.tenants, running: concurrency.used, inFlight }
    },
  }
}

const NOTHING = { bodies: 0, running: 0, inFlight: 0 }

test('a running request holds its body and its place, and returns both with its answer', async () => {
  const one = aGateway()
  const { heard, done } = await one.send()
  assert.deepEqual(await one.held(), { bodies: 1, running: 1, inFlight: 1 })
  one.answers(200, ANSWER)
  await done
  assert.deepEqual([heard.status, heard.body], [200, ANSWER])
  assert.deepEqual(await one.held(), NOTHING)
  const { tokens } = one.gateway.metrics
  const counted = [...tokens.entries()].map(([{ kind }, { value }]) => [kind, value])
  assert.deepEqual(counted, [
    ['prompt', 3],
    ['completion', 2],
  ])
})

const REFUSED: Readonly<Record<string, readonly [Sent, status: number]>> = {
  'an unknown key': [{ headers: { ...HEADERS, authorization: 'Bearer none' } }, 401],
  'a type that is no JSON': [{ headers: { ...HEADERS, 'content-type': 'text/plain' } }, 415],
  'a body that is no JSON': [{ body: '{"model":' }, 400],
  'an unknown route': [{ body: { ...BODY, model: 'none' } }, 404],
  'a route of others': [{ body: { ...BODY, model: 'other' } }, 403],
  'a prompt that fits no upstream': [{ body: { ...BODY, max_tokens: 5_000 } }, 400],
  'work that fails': [{ work: () => Promise.reject(new Error('mistake')) }, 500],
}

for (const [name, [sent, status]] of Object.entries(REFUSED)) {
  test(`${name} is refused, and nothing stays held`, async () => {
    const one = aGateway()
    const { heard, done } = await one.send(sent)
    await done
    assert.equal(heard.status, status)
    assert.deepEqual(await one.held(), NOTHING)
  })
}

test('a second request beyond the limit is refused, and takes no place from the first', async () => {
  const one = aGateway()
  const first = await one.send()
  const second = await one.send()
  await second.done
  assert.equal(second.heard.status, 429)
  assert.deepEqual(await one.held(), { bodies: 1, running: 1, inFlight: 1 })
  one.answers(200, ANSWER)
  await first.done
  assert.deepEqual(await one.held(), NOTHING)
})

test('an upstream that fails leaves nothing held', async () => {
  const one = aGateway()
  const { heard, done } = await one.send()
  one.answers(400, '{"error":{"message":"No."}}')
  await done
  assert.equal(heard.status, 400)
  assert.deepEqual(await one.held(), NOTHING)
})

test('a client that leaves while it is served leaves nothing held', async () => {
  const one = aGateway()
  const { done, leaves } = await one.send()
  leaves()
  // The gateway reads the upstream a little longer for its usage.
  one.pass(1_000)
  await done
  assert.deepEqual(await one.held(), NOTHING)
})

test('a client that leaves before its body has come leaves nothing held', async () => {
  const one = aGateway()
  const { done, leaves } = await one.send({ late: true })
  assert.equal((await one.held()).bodies, 1)
  leaves()
  await done
  assert.deepEqual(await one.held(), NOTHING)
})
