import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import {
  checkedLookup,
  isDeniedAddress,
  isDeniedHost,
  type Resolve,
} from '../../../dataplane/upstream/addresses.ts'
import { openPool } from '../../../dataplane/upstream/client.ts'

type PoolArguments = Parameters<typeof openPool>

const DENIED = [
  // The metadata service in every form that leads to it.
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.169.254:8000',
  'https://169.254.169.254',
  'http://169.254.169.254.',
  'http://2852039166',
  'http://0xa9fea9fe',
  'http://0xA9.0xFE.0xA9.0xFE',
  'http://0251.0376.0251.0376',
  'http://025177524776',
  'http://169.16689662',
  'http://169.254.43518',
  'http://0xa9.254.0251.254',
  'http://169.254.169.254%2e',
  'http://１６９.２５４.１６９.２５４',
  'http://169。254。169。254',
  'http://user:word@169.254.169.254',
  'http://[::ffff:169.254.169.254]',
  'http://[::ffff:a9fe:a9fe]',
  'http://[0:0:0:0:0:ffff:a9fe:a9fe]',
  'http://[::169.254.169.254]',
  'http://[::a9fe:a9fe]',
  'http://[::ffff:0:169.254.169.254]',
  'http://[64:ff9b::169.254.169.254]',
  'http://[64:ff9b::a9fe:a9fe]',
  'http://[64:ff9b:1::a9fe:a9fe]',
  'http://[2002:a9fe:a9fe::]',
  'http://[2002:a9fe:a9fe::1]',
  // The rest of link-local.
  'http://169.254.0.0',
  'http://169.254.0.23',
  'http://169.254.170.2',
  'http://169.254.170.23',
  'http://169.254.42.42',
  'http://169.254.255.255',
  'http://[fe80::1]',
  'http://[fe80::a9fe:a9fe]',
  'http://[febf:ffff::1]',
  // Metadata services outside it.
  'http://100.100.100.200',
  'http://1684301000',
  'http://[::ffff:100.100.100.200]',
  'http://[2002:6464:64c8::]',
  'http://192.0.0.192',
  'http://168.63.129.16',
  'http://[fd00:ec2::254]',
  'http://[FD00:0EC2:0:0:0:0:0:0254]',
  'http://[fd00:ec2::23]',
  'http://[fd20:ce::254]',
  'http://[fd00:c1::a9fe:a9fe]',
  'http://[fd00:42::42]',
  'http://metadata.google.internal/computeMetadata/v1/',
  'http://METADATA.Google.Internal.',
  'http://any.metadata.google.internal',
  'http://metadata.goog',
  'http://metadata',
  'http://metadata.azure.internal',
  'http://metadata.tencentyun.com',
  'http://instance-data',
  'http://instance-data.ec2.internal',
]

const ALLOWED = [
  'http://127.0.0.1:8000',
  'http://localhost:8000',
  'http://[::1]:8000',
  'http://0.0.0.0:8000',
  'http://10.0.0.7',
  'http://172.16.0.7',
  'http://192.168.169.254',
  'http://192.0.0.191',
  'http://100.100.100.201',
  'http://168.63.129.17',
  'http://169.253.255.255',
  'http://169.255.0.0',
  'http://[fd00::1]',
  'http://[fec0::1]',
  'http://[::ffff:10.0.0.7]',
  'http://[64:ff9b::10.0.0.7]',
  'http://metadata.example.com',
  'http://my-metadata',
  'http://169.254.169.254.example.com',
  'https://api.openai.com',
]

for (const endpoint of DENIED) {
  test(`${endpoint} is never dialled, with or without a proxy`, async () => {
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

test('a proxy at a denied address is not dialled either', async () => {
  const pool = aPool('http://model.example:8000', 'http://169.254.169.254:3128')
  const asked = pool.request({ path: '/', method: 'GET' })
  await assert.rejects(asked, { code: 'ERR_GW_ADDRESS_DENIED' })
  await pool.destroy()
})

test('a zone is no way around', () => {
  assert.equal(isDeniedAddress('fe80::1%eth0'), true)
  assert.equal(isDeniedAddress('::1%lo'), false)
  assert.equal(isDeniedAddress('no address'), false)
})

test('a name that leads to a denied address is not dialled', async () => {
  const attempt = await dial(answering([['169.254.169.254']]))
  assert.equal(attempt.error?.code, 'ERR_GW_ADDRESS_DENIED')
  assert.match(attempt.error?.message ?? '', /model\.example \(169\.254\.169\.254\)/)
})

test('of several addresses only the allowed ones are dialled', async () => {
  const resolve = answering([['fe80::1', '127.0.0.1', '::ffff:169.254.169.254']])
  const attempt = await dial(resolve)
  assert.equal(attempt.error, undefined)
  assert.deepEqual(attempt.dialled, ['127.0.0.1'])
})

test('an answer that changes after the check is not asked for', async () => {
  const resolve = answering([['127.0.0.1'], ['169.254.169.254']])
  const first = await dial(resolve)
  assert.equal(first.error, undefined)
  assert.equal(resolve.asked, 1)
  const second = await dial(resolve)
  assert.equal(second.error?.code, 'ERR_GW_ADDRESS_DENIED')
  assert.deepEqual(second.dialled, [])
})

test('a name that does not resolve stays what it was', async () => {
  const attempt = await dial(answering([]))
  assert.equal(attempt.error?.code, 'ENOTFOUND')
})

test('one address is given to a caller that asks for one', () => {
  checkedLookup(answering([['fe80::1', '127.0.0.1']]))('model.example', {}, (...found) => {
    assert.deepEqual(found, [null, '127.0.0.1', 4])
  })
})

type Answering = Resolve & { asked: number }

/** A resolver that gives each of the answers once, and then knows nothing. */
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
  const socket = connect({ port, host: 'model.example', lookup: checkedLookup(resolve) })
  socket.on('connectionAttempt', (address: string) => dialled.push(address))
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
  // Only what a pool is opened with is given.
  return openPool(upstream as unknown as PoolArguments[0], whole as unknown as PoolArguments[1], 1)
}
