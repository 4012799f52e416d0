/** The work for a long list of endpoints, by count: a request must not wait for it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, BlockList } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Endpoint } from '../../../../dataplane/upstream/endpoints/endpoint.ts'
import { addresses, aRig } from './a-rig.ts'

/** Counts judged addresses and parsed URLs from here on; a connection to an endpoint begins with a URL. */
function counts(t: TestContext) {
  const { check } = BlockList.prototype
  const seen = { judged: 0, ways: 0 }
  t.mock.method(BlockList.prototype, 'check', function (this: BlockList, ...args: never[]) {
    seen.judged++
    return Reflect.apply(check, this, args)
  })
  class Counted extends URL {
    constructor(...args: ConstructorParameters<typeof URL>) {
      super(...args)
      seen.ways++
    }
  }
  t.mock.property(globalThis, 'URL', Counted)
  return seen
}

test('of a thousand addresses the used ones are judged, once each, without connections', (t) => {
  const { endpoints } = aRig(0)
  const seen = counts(t)
  endpoints.set(addresses(1000))
  assert.equal(endpoints.count, 256)
  assert.deepEqual(seen, { judged: 256, ways: 0 })
  endpoints.set(addresses(1000))
  assert.deepEqual(seen, { judged: 256, ways: 0 })
})

test('the pool of an endpoint is made once, for its first request', (t) => {
  const { choose } = aRig(1)
  const seen = counts(t)
  const { pool } = choose() ?? assert.fail('no endpoint was chosen')
  assert.equal(choose()?.pool, pool)
  assert.equal(seen.ways, 1)
})

test('requests at a removed endpoint keep no connection', async (t) => {
  let connections = 0
  const server = createServer((_, answer) => answer.end('{}'))
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const { endpoints, choose } = aRig(0)
  endpoints.set([{ id: 'a', address: '127.0.0.1', port }])
  const one = choose() ?? assert.fail('no endpoint was chosen')
  endpoints.set([])
  for (let time = 0; time < 2; time++) await asked(one)
  assert.equal(connections, 2)
})

function asked({ pool }: Endpoint): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const request = { path: '/', headers: [], requestId: 'r', body: Buffer.from('{}') }
  pool.dispatch(request, {
    isOver: false,
    onRequestStart() {},
    onResponseStart() {},
    onResponseData() {},
    onResponseEnd: resolve,
    onResponseError: (_, error) => reject(error),
  })
  return promise
}

test('a denied address takes no place of another', () => {
  const { endpoints } = aRig(0)
  const metadata = { id: 'm', address: '169.254.169.254', port: 80 }
  endpoints.set([metadata, ...addresses(256)])
  assert.equal(endpoints.count, 256)
  assert.ok(!endpoints.addresses.includes(metadata))
})
