import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type LookupFunction } from 'node:net'
import { test } from 'node:test'
import {
  checkedLookup,
  isDeniedAddress,
  isDeniedHost,
  type Resolve,
} from '../../../dataplane/connection/addresses.ts'
import { openPool } from '../../../dataplane/connection/client.ts'
import { ALLOWED, DENIED } from '../upstream/ssrf-endpoints.ts'

type PoolArguments = Parameters<typeof openPool>

for (const endpoint of DENIED) {
  test(`${endpoint} is never connected to, with or without a proxy`, async () => {
    const { hostname, origin } = new URL(endpoint)
    assert.equal(isDeniedHost(hostname), true)
    for (const http_proxy of [undefined, 'http://127.0.0.1:9']) {
      const pool = aPool(origin, http_proxy)
      const asked = pool.request({ path: '/', method: 'GET' })
      await assert.rejects(asked, { code: 'ERR_GW_ADDRESS_DENIED' })
      await pool.destroy()
    }
  })
}

for (const endpoint of ALLOWED) {
  test(`${endpoint} may be dialled`, () => {
    assert.equal(isDeniedHost(new URL(endpoint).hostname), false)
  })
}

test('a proxy at a denied address is not connected to either', async () => {
  const pool = aPool('http://model.example:8000', 'http://169.254.169.254:3128')
  const asked = pool.request({ path: '/', method: 'GET' })
  await assert.rejects(asked, { code: 'ERR_GW_ADDRESS_DENIED' })
  await pool.destroy()
})

test('a zone does not bypass the check', () => {
  assert.equal(isDeniedAddress('fe80::1%eth0'), true)
  assert.equal(isDeniedAddress('::1%lo'), false)
  assert.equal(isDeniedAddress('no address'), false)
})

test('a name with a denied address is not connected to', async () => {
  const attempt = await dial(answering([['169.254.169.254']]))
  assert.equal(attempt.error?.code, 'ERR_GW_ADDRESS_DENIED')
  assert.match(attempt.error?.message ?? '', /model\.example \(169\.254\.169\.254\)/)
})

test('of several addresses only the allowed ones are used', async () => {
  const resolve = answering([['fe80::1', '127.0.0.1', '::ffff:169.254.169.254']])
  const attempt = await dial(resolve)
  assert.equal(attempt.error, undefined)
  assert.deepEqual(attempt.dialled, ['127.0.0.1'])
})

test('an answer that changes after the check is not used', async () => {
  const resolve = answering([['127.0.0.1'], ['169.254.169.254']])
  const first = await dial(resolve)
  assert.equal(first.error, undefined)
  assert.equal(resolve.asked, 1)
  const second = await dial(resolve)
  assert.equal(second.error?.code, 'ERR_GW_ADDRESS_DENIED')
  assert.deepEqual(second.dialled, [])
})

test('an unresolvable name stays one', async () => {
  const attempt = await dial(answering([]))
  assert.equal(attempt.error?.code, 'ENOTFOUND')
})

test('a caller that asks for one address gets one', () => {
  checkedLookup(answering([['fe80::1', '127.0.0.1']]))('model.example', {}, (...found) => {
    assert.deepEqual(found, [null, '127.0.0.1', 4])
  })
})

type Answering = Resolve & { asked: number }

/** A resolver that returns each of the answers once, and then nothing. */
function answering(answers: readonly (readonly string[])[]): Answering {
  const left = [...answers]
  const resolve: Answering = Object.assign<Resolve, { asked: number }>(
    (_hostname, _options, callback) => {
      resolve.asked++
      const answer = left.shift()
      if (answer === undefined) {
        callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), [])
      } else callback(null, answer.map(withFamily))
    },
    { asked: 0 },
  )
  return resolve
}

function withFamily(address: string): LookupAddress {
  return { address, family: address.includes(':') ? 6 : 4 }
}

/** Connects a real socket to a listening port of this machine by a name that the resolver knows. */
async function dial(resolve: Resolve) {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const dialled: string[] = []
  const checked = checkedLookup(resolve)
  const lookup: LookupFunction = (hostname, options, callback) =>
    checked(hostname, options, (failed, found, family) => {
      // The socket tries the addresses that the look-up returns.
      for (const each of Array.isArray(found) ? found : []) dialled.push(each.address)
      callback(failed, found, family)
    })
  const socket = connect({ port, host: 'model.example', lookup })
  let error: NodeJS.ErrnoException | undefined
  await once(socket.resume(), 'connect').catch((caught) => {
    error = caught
  })
  socket.destroy()
  server.close()
  return { error, dialled }
}

function aPool(origin: string, http_proxy: string | undefined) {
  const upstream = { origin, timeoutMs: 5000, section: { connect_timeout_seconds: 1 } }
  const whole = { http_proxy, no_proxy: [] }
  // Contains only what a pool needs.
  return openPool(upstream as unknown as PoolArguments[0], whole as unknown as PoolArguments[1], 1)
}
