/** The frame around a request: refusals reach trace, headers and metrics, and a drain ends requests. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openAiWire } from '../../../dataplane/apis/openai/wire.ts'
import { type ErrorDetails, GatewayError } from '../../../dataplane/base/errors.ts'
import type { Api, Visit } from '../../../dataplane/request/api.ts'
import { describeLimits, identify, serve } from '../../../dataplane/request/visit.ts'
import { aCall } from '../an-answer.ts'
import { assemble } from '../assembled-gateway.ts'
import { headed } from '../headed.ts'

function anApi(run: Api['run'], quiet = false): Api {
  return { method: 'GET', path: '/test', summary: '', wire: openAiWire, quiet, run }
}

const RECORD = {
  id: 'k',
  tenant: 'acme',
  routes: ['*'],
  hash: `sha256:${hash('sha256', 'key-of-acme')}`,
}

/** A call with a good key, of an API that runs this. */
function served(run: Api['run'], quiet = false) {
  const { gateway, lines } = assemble({ api_keys: [RECORD] })
  const headers = headed({ authorization: 'Bearer key-of-acme' })
  const { call, heard } = aCall(headers, gateway.clock.now())
  const done = serve(call, gateway, [], anApi(run, quiet))
  return { gateway, heard, lines, done, trace: () => gateway.traces.get('r-1') }
}

function refuseWith(
  code: 'ERR_GW_ROUTE_NOT_FOUND' | 'ERR_GW_RATE_LIMIT_LOCAL',
  details: ErrorDetails,
) {
  return async (visit: Visit) => {
    await identify(visit)
    throw new GatewayError(code, 'No.', details)
  }
}

test('the facts of a refusal are in the trace and in the headers', async () => {
  const learnt = { model: 'gw_***', route: 'chat' }
  const { heard, done, trace, gateway } = served(
    refuseWith('ERR_GW_ROUTE_NOT_FOUND', { learnt, cause: 'why' }),
  )
  await done
  const { tenant, key, model, route, code, message, status } = trace() ?? assert.fail()
  assert.deepEqual(
    { tenant, key, model, route, code, message, status },
    {
      tenant: 'acme',
      key: 'k',
      model: 'gw_***',
      route: 'chat',
      code: 'ERR_GW_ROUTE_NOT_FOUND',
      message: 'why',
      status: 404,
    },
  )
  assert.equal(heard.head['x-gw-route'], 'chat')
  assert.equal(heard.head['X-Gw-RateLimit-Remaining'], '30', 'a known caller gets its figures')
  assert.equal(gateway.metrics.refused.at('ERR_GW_ROUTE_NOT_FOUND').value, 1)
  assert.deepEqual([...gateway.metrics.rejected.entries()], [])
})

test('a reached limit is counted by tenant and limit, and its figures are sent as headers', async () => {
  const learnt = { limit: 'rpm', limitHeaders: { 'X-Gw-RateLimit-Remaining': '0' } }
  const { heard, done, gateway } = served(refuseWith('ERR_GW_RATE_LIMIT_LOCAL', { learnt }))
  await done
  assert.equal(gateway.metrics.rejected.at('acme', 'rpm').value, 1)
  assert.equal(heard.head['X-Gw-RateLimit-Remaining'], '0')
  assert.equal(heard.head['X-Gw-RateLimit-Limit'], undefined)
})

test('a mistake of the gateway is hidden from the client and logged in full', async () => {
  const { heard, done, lines } = served(() => {
    throw new TypeError('x is not a function')
  })
  await done
  assert.equal(heard.status, 500)
  assert.doesNotMatch(heard.body, /not a function/)
  assert.match(String(lines[0]?.stack), /x is not a function/)
})

for (const what of ['refusal', 'record'] as const) {
  test(`a mistake in the ${what} of a request ends its connection and no other request`, async () => {
    const { gateway, lines } = assemble({ api_keys: [RECORD] })
    const { call, heard } = aCall(headed({}), gateway.clock.now())
    const broken = () => {
      throw new TypeError('x is not a function')
    }
    if (what === 'record') gateway.traces.add = broken
    const run = () => Promise.reject(new GatewayError('ERR_GW_ROUTE_NOT_FOUND', 'No.'))
    const wire = what === 'refusal' ? { ...openAiWire, refusal: broken } : openAiWire
    await serve(call, gateway, [], { ...anApi(run), wire })
    assert.equal(heard.calls.at(-1), 'destroy')
    assert.equal(gateway.visits.size, 0)
    const [logged] = lines.filter(({ event }) => event === 'internal_error')
    assert.match(String(logged?.stack), /x is not a function/)
  })
}

test('a probe leaves neither trace nor line nor the time of a call', async () => {
  const { heard, done, gateway, lines, trace } = served(({ response }) => {
    response.send(200, 'text/plain', 'ok')
  }, true)
  await done
  assert.equal(heard.body, 'ok')
  assert.deepEqual([trace(), lines], [undefined, []])
  assert.equal(gateway.calledAt, Number.NEGATIVE_INFINITY)
})

test('a client that leaves is in the log, and is not counted as refused', async () => {
  const { promise, reject } = Promise.withResolvers<void>()
  const { heard, done, gateway, trace } = served(() => promise)
  heard.listener.closed()
  reject(new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.'))
  await done
  assert.equal(trace()?.status, 499)
  assert.equal(gateway.metrics.refused.at('ERR_GW_STREAM_ABORTED').value, 0)
})

test("an answer without an admission has the tenant's figures", async () => {
  const { heard, done } = served(async (visit) => {
    await identify(visit)
    await describeLimits(visit)
    visit.response.send(200, 'text/plain', '')
  })
  await done
  assert.equal(heard.head['X-Gw-RateLimit-Limit'], '120')
})

const shutDown = (hasBegun: boolean) =>
  new GatewayError(hasBegun ? 'ERR_GW_STREAM_ABORTED' : 'ERR_GW_OVERLOADED', 'The end.')

for (const [what, begins, status] of [
  ['that has no answer yet is refused', false, 503],
  ['whose stream has begun is cut', true, 499],
] as const) {
  test(`at the end of the process a request ${what}, and its running work ends`, async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { heard, done, gateway, trace } = served(({ response }) => {
      response.presence.begin({ leave: () => resolve() })
      if (begins) response.commit({ drained() {} })
      return promise
    })
    for (const visit of gateway.visits.list()) visit.closeBehind()
    for (const visit of gateway.visits.list()) visit.cut(shutDown)
    await done
    await turn()
    assert.equal(trace()?.status, status)
    assert.equal(gateway.visits.size, 0)
    assert.equal(heard.calls.at(-1), begins ? 'cut' : 'whole')
    if (!begins) assert.equal(heard.head.connection, 'close')
  })
}

test('at the end of the process a complete answer does not change', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { heard, done, gateway, trace } = served(({ response }) => {
    response.send(200, 'text/plain', 'whole')
    return promise
  })
  for (const visit of gateway.visits.list()) visit.cut(shutDown)
  resolve()
  await done
  assert.deepEqual([trace()?.status, trace()?.code, heard.calls.length], [200, undefined, 1])
})
