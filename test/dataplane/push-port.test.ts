/**
 * The push port against clients without rights: one body at a time, connections that end, and room for the operator.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { judgeProof, proofOf } from '../../dataplane/delivery/push-proof.ts'
import { trustOf } from '../../dataplane/delivery/signed.ts'
import { refuseProof } from '../../dataplane/pod/proof.ts'
import { createPushServer } from '../../dataplane/pod/push.ts'

const pair = generateKeyPairSync('ed25519')
const trust = trustOf([pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()])
const [keyId = ''] = trust.keys()
const uid = 'uid-1'

/** A pod that accepts proven bodies, and keeps them in order. */
function aPod(taken: unknown[] = []) {
  const take = async (envelope: unknown) => {
    taken.push(envelope)
    return { status: 200, body: {} }
  }
  return {
    taken,
    takeConfiguration: take,
    takeEndpoints: () => ({ status: 200, body: {} }),
    takeKeys: take,
    // The port passes it on unchanged.
    status: () => ({ ready: true }) as never,
    isReady: true,
    noteMistake(error: unknown) {
      throw error
    },
    judgeProof(headers: Parameters<typeof judgeProof>[0], path: string) {
      const judged = judgeProof(headers, { path, uid }, () => trust)
      return 'digest' in judged ? judged : { refusal: refuseProof(judged) }
    },
  }
}

async function aPort(pod = aPod(), timings = {}) {
  const server = createPushServer(pod, timings)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  // It listens on an address and a port, so it has both.
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    after(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { origin: `http://127.0.0.1:${port}`, open }
}

function proof(path: string, body: string | Buffer) {
  return proofOf(body, { path, uid }, { privateKey: pair.privateKey, keyId })
}

function head(path: string, body: string, headers: object): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `PUT ${path} HTTP/1.1\r\nhost: pod\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n`
}

test('the proof covers the bytes as they are sent', async () => {
  const { origin } = await aPort()
  const packed = gzipSync('{"keys":[]}')
  const put = async (headers: Record<string, string>) => {
    const gzip = { ...headers, 'content-encoding': 'gzip' }
    return (await fetch(`${origin}/keys`, { method: 'PUT', headers: gzip, body: packed })).status
  }
  assert.equal(await put(proof('/keys', packed)), 200)
  assert.equal(await put(proof('/keys', gunzipSync(packed))), 401)
  assert.equal(await put(proof('/config', packed)), 401)
  assert.equal(await put({}), 401)
})

test('one body is read at a time: the second waits until the first is complete', async () => {
  const pod = aPod()
  const { origin, open } = await aPort(pod)
  const first = '{"first":1}'
  const slow = await open()
  slow.write(`${head('/keys', first, proof('/keys', first))}${first.slice(0, 3)}`)
  // Its head has been read when a later request of the same process is answered.
  assert.equal((await fetch(`${origin}/config/status`)).status, 200)
  const second = fetch(`${origin}/keys`, {
    method: 'PUT',
    headers: proof('/keys', '{}'),
    body: '{}',
  })
  assert.equal((await fetch(`${origin}/config/status`)).status, 200)
  assert.deepEqual(pod.taken, [])
  slow.write(first.slice(3))
  assert.equal((await second).status, 200)
  assert.deepEqual(pod.taken, [{ first: 1 }, {}])
})

test('more waiting bodies than an operator sends are refused as busy', async () => {
  const { origin, open } = await aPort()
  const slow = await open()
  slow.write(head('/keys', '{}', proof('/keys', '{}')))
  assert.equal((await fetch(`${origin}/config/status`)).status, 200)
  const options = { method: 'PUT', headers: proof('/keys', '{}'), body: '{}' }
  const others = Array.from({ length: 12 }, () => fetch(`${origin}/keys`, options))
  const refused = await Promise.any(
    others.map(async (one) => ((await one).status === 503 ? 503 : Promise.reject())),
  )
  assert.equal(refused, 503)
  slow.write('{}')
  const statuses = await Promise.all(others.map(async (one) => (await one).status))
  assert.deepEqual([...new Set(statuses)].sort(), [200, 503])
})

test('a silent connection, and one after its answer, are closed', async () => {
  const { open } = await aPort(aPod(), { headersMs: 50, idleMs: 50 })
  const silent = await open()
  const idle = await open()
  idle.write('GET /config/status HTTP/1.1\r\nhost: pod\r\n\r\n')
  await Promise.all([ended(silent), ended(idle)])
})

test('idle connections make room for the operator, and a proven request keeps its own', async () => {
  const { origin, open } = await aPort(aPod(), {
    headersMs: 600_000,
    requestMs: 600_000,
    idleMs: 600_000,
  })
  const busy = await open()
  busy.write(head('/keys', '{"a":1}', proof('/keys', '{"a":1}')))
  assert.equal((await fetch(`${origin}/config/status`)).status, 200)
  const idle = await Promise.all(Array.from({ length: 80 }, open))
  let closed = 0
  const made = Promise.withResolvers<void>()
  for (const socket of idle) {
    socket.resume().once('close', () => {
      closed += 1
      if (closed === 16) made.resolve()
    })
  }
  const heard = new Promise<string>((resolve) => {
    busy.setEncoding('utf8').once('data', resolve)
    busy.once('close', () => resolve('its connection was ended'))
  })
  // All of them have been accepted by then, and the surplus ones closed.
  await made.promise
  const answer = await fetch(`${origin}/config/status`, { headers: { connection: 'close' } })
  assert.equal(answer.status, 200)
  busy.write('{"a":1}')
  assert.match(await heard, /^HTTP\/1\.1 200 /)
})

async function ended(socket: Socket): Promise<void> {
  socket.resume()
  if (!socket.destroyed) await once(socket, 'close')
}
