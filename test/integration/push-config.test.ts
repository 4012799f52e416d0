/**
 * Configurations pushed to a real pod: accepted if they are signed, newer and valid; otherwise
 * refused without a change.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, beforeEach, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { hashOf, sign } from '../../dataplane/delivery/signed.ts'
import { aKey } from '../helpers/a-key.ts'
import { startUpstream, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  aSigner,
  headFor,
  makeMounts,
  mountBundle,
  type Numbers,
  type Pushed,
  proofFor,
  signed,
  startPod,
} from './pod.ts'

const upstream = await startUpstream(whole())
const { key, record } = aKey({ id: 'client' })
const mounts = await makeMounts()
let sequence = 1

function withRoute(name: string, numbers: Partial<Numbers> = {}, more = {}) {
  const gw = {
    upstreams: [{ name: 'fake', endpoint: upstream.url }],
    routes: [{ name, strategy: 'single', primary: 'fake' }],
    ...more,
  }
  return aConfiguration(gw, { sequence, generation: sequence, ...numbers })
}

await mountBundle(mounts, 'config.json', signed(mounts, withRoute('chat')))
await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 1 })))
const pod = await startPod({ mounts, key })
after(() => Promise.all([pod.process.stop(), upstream.close()]))

const serves = async (model: string) => (await pod.chat({ model })).status === 200

beforeEach(async () => {
  sequence += 10
  const { status } = await pod.push(withRoute('chat'))
  assert.equal(status, 200)
})

/** Only the previous configuration is enforced. */
async function isKept(why: string): Promise<void> {
  const { configuration } = await pod.status()
  assert.equal(configuration.sequence, sequence, why)
  assert.ok(await serves('chat'), why)
  assert.ok(!(await serves('other')), why)
}

function refusedWith({ status, body }: Pushed, wanted: number, reason: string): void {
  assert.equal(status, wanted, JSON.stringify(body))
  assert.equal(body.reason, reason)
  assert.ok(body.message.length > 10)
}

test('a pushed configuration is enforced when the answer arrives', async () => {
  sequence += 1
  const document = withRoute('other')
  const { status, body } = await pod.push(document)
  assert.equal(status, 200)
  assert.ok(document.kind === 'Configuration')
  const hash = hashOf(document.payload)
  const numbers = { hash, sequence, generation: sequence }
  assert.deepEqual(body, { ...numbers, ignored: [], unresolved: [], waitsForStart: [] })
  assert.ok(await serves('other'))
  assert.ok(!(await serves('chat')))
  const reported = await pod.status()
  assert.equal(reported.ready, true)
  assert.equal(reported.pod, 'production-1')
  assert.partialDeepStrictEqual(reported.configuration, { ...numbers, origin: 'push' })
  assert.equal(reported.configuration.documentHash, signed(mounts, document).sha256)
})

test("a new signature, sequence or generation does not change the configuration's hash", async () => {
  const before = (await pod.status()).configuration
  sequence += 1
  await pod.push(withRoute('chat', { generation: 99 }))
  const now = (await pod.status()).configuration
  assert.equal(now.hash, before.hash)
  assert.notEqual(now.documentHash, before.documentHash)
  assert.equal(now.generation, 99)
})

test('a document without a valid signature is refused', async () => {
  const other = withRoute('other', { sequence: sequence + 1 })
  const envelope = signed(mounts, other)
  const changed = envelope.document.replaceAll('other', 'moved')
  const stranger = sign(other, aSigner().privateKey)
  const signature = randomBytes(64).toString('base64')
  refusedWith(await pod.put('/config', stranger), 403, 'untrusted_key')
  refusedWith(
    await pod.put('/config', { ...stranger, keyId: envelope.keyId }),
    401,
    'bad_signature',
  )
  refusedWith(await pod.put('/config', { ...envelope, signature }), 401, 'bad_signature')
  refusedWith(await pod.put('/config', { ...envelope, signature: '' }), 401, 'bad_signature')
  refusedWith(await pod.put('/config', { ...envelope, document: changed }), 401, 'bad_signature')
  refusedWith(await pod.put('/config', JSON.stringify(other)), 400, 'malformed')
  refusedWith(await pod.put('/config', 'null'), 400, 'malformed')
  refusedWith(await pod.put('/config', '{"document": '), 400, 'malformed')
  await isKept('not proven')
})

test('a body whose headers do not prove it is refused without unpacking a byte', async () => {
  const envelope = JSON.stringify(signed(mounts, withRoute('other', { sequence: sequence + 1 })))
  const none = { 'x-gw-key-id': '', 'x-gw-body-sha256': '', 'x-gw-signature': '' }
  refusedWith(await pod.put('/config', envelope, none), 401, 'bad_signature')
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  const gzip = { 'content-encoding': 'gzip' }
  refusedWith(await pod.put('/keys', bomb, { ...gzip, ...none }), 401, 'bad_signature')
  // Unpacked, it would be too large.
  const ofAnother = proofFor(mounts, '/keys', 'another body')
  refusedWith(await pod.put('/keys', bomb, { ...gzip, ...ofAnother }), 401, 'bad_signature')
  const ofAnotherPath = proofFor(mounts, '/keys', envelope)
  refusedWith(await pod.put('/config', envelope, ofAnotherPath), 401, 'bad_signature')
  const stranger = { ...mounts, signer: aSigner() }
  const byStranger = proofFor(stranger, '/config', envelope)
  refusedWith(await pod.put('/config', envelope, byStranger), 403, 'untrusted_key')
  await isKept('not proven by headers')
})

test('a refusal does not wait for the refused body', async () => {
  const { hostname, port } = new URL(pod.pushUrl)
  const socket = connect({ host: hostname, port: Number(port) }).setEncoding('utf8')
  socket.on('error', () => {})
  socket.write('PUT /keys HTTP/1.1\r\nHost: pod\r\nContent-Length: 4000000\r\n\r\n')
  let heard = ''
  for await (const piece of socket) {
    heard += piece
    if (heard.includes('bad_signature')) break
  }
  assert.match(heard, /^HTTP\/1\.1 401 /)
  assert.match(heard, /connection: close/i)
})

test('a document for another gateway, or of another kind, is refused', async () => {
  refusedWith(
    await pod.push(withRoute('other', { sequence: sequence + 1, uid: 'another-uid' })),
    403,
    'other_gateway',
  )
  const keys = signed(mounts, allKeys([record], { sequence: 1000 }))
  refusedWith(await pod.put('/config', keys), 400, 'malformed')
  await isKept('for another')
})

test('an older document is refused, and the current one may come again', async () => {
  const inForce = withRoute('chat')
  const older = await pod.push(withRoute('other', { sequence: sequence - 1 }))
  refusedWith(older, 409, 'older_sequence')
  assert.equal(older.body.have, sequence)
  const same = await pod.push(withRoute('other'))
  refusedWith(same, 409, 'sequence_conflict')
  const again = await pod.push(inForce)
  assert.equal(again.status, 200)
  assert.equal(again.body.sequence, sequence)
  await isKept('older')
})

test('an invalid configuration gets every problem and its fix', async () => {
  const bad = {
    upstreams: [{ name: 'fake', endpoint: upstream.url, timeout_seconds: 'soon' }],
    routes: [{ name: 'other', strategy: 'single', primary: 'ghost' }],
  }
  const { status, body } = await pod.push(aConfiguration(bad, { sequence: sequence + 1 }))
  assert.equal(status, 422)
  const pointers = body.problems.map(({ pointer }: { pointer: string }) => pointer)
  assert.ok(pointers.includes('/gw/routes/0/primary'), String(pointers))
  assert.ok(pointers.includes('/gw/upstreams/0/timeout_seconds'), String(pointers))
  for (const problem of body.problems) assert.ok(problem.message && problem.fix)
  const { configuration } = await pod.status()
  assert.equal(configuration.lastError.sequence, sequence + 1)
  assert.deepEqual(configuration.lastError.problems, body.problems)
  await isKept('invalid')
  // A refused document does not allow an earlier sequence.
  const between = await pod.push(withRoute('other', { sequence: sequence + 1 }))
  refusedWith(between, 409, 'sequence_conflict')
  sequence += 2
  assert.equal((await pod.push(withRoute('chat'))).status, 200)
  assert.equal((await pod.status()).configuration.lastError, undefined)
})

test('fields of a newer operator are reported and change nothing', async () => {
  sequence += 1
  const more = {
    from_the_future: { depth: 1 },
    routes: [{ name: 'chat', strategy: 'single', primary: 'fake', sparkle: true }],
    api_keys_file: 'keys.yaml',
    state_dir: '/data',
  }
  const { status, body } = await pod.push(withRoute('chat', {}, more))
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body.ignored.toSorted(), [
    '/gw/api_keys_file',
    '/gw/from_the_future',
    '/gw/routes/0/sparkle',
    '/gw/state_dir',
  ])
  assert.deepEqual((await pod.status()).ignored, body.ignored)
  assert.ok(await serves('chat'))
})

test('a document that is too large, packed or unpacked, is refused', async () => {
  const bytes = 5_000_000
  refusedWith(await pod.put('/config', 'x'.repeat(bytes)), 413, 'too_large')
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  assert.ok(bomb.length < 100_000)
  refusedWith(await pod.put('/config', bomb, { 'content-encoding': 'gzip' }), 413, 'too_large')
  const headers = proofFor(mounts, '/config', 'x')
  const chunked = new Promise<number>((resolve, reject) => {
    const outgoing = request(`${pod.pushUrl}/config`, { method: 'PUT', headers }, (incoming) => {
      incoming.resume()
      outgoing.off('error', reject).on('error', () => {})
      resolve(incoming.statusCode ?? 0)
    })
    outgoing.on('error', reject)
    const piece = Buffer.alloc(65_536, 'x')
    // 100 MiB, of which only the first pieces are read.
    let left = 1600
    const more = () => {
      while (left-- > 0) if (!outgoing.write(piece)) return void outgoing.once('drain', more)
      outgoing.end()
    }
    more()
  })
  assert.equal(await chunked, 413)
  await isKept('too large')
})

test('a document may be compressed with gzip, and no other encoding is read', async () => {
  sequence += 1
  const text = JSON.stringify(signed(mounts, withRoute('chat')))
  const packed = gzipSync(text)
  const gzip = { 'content-encoding': 'gzip' }
  refusedWith(await pod.put('/config', packed.subarray(0, 200), gzip), 400, 'malformed')
  refusedWith(await pod.put('/config', text, { 'content-encoding': 'br' }), 415, 'encoding')
  assert.equal((await pod.put('/config', packed, gzip)).status, 200)
})

test('an incomplete body changes nothing; it is cut after a timeout, or when its sender disconnects', async () => {
  const { hostname, port } = new URL(pod.pushUrl)
  const text = JSON.stringify(signed(mounts, withRoute('other', { sequence: sequence + 1 })))
  const head = headFor(mounts, '/config', text)
  const half = connect({ host: hostname, port: Number(port) })
  half.write(head + text.slice(0, 100))
  const left = connect({ host: hostname, port: Number(port) })
  left.write(head + text.slice(0, 100), () => left.destroy())
  half.on('error', () => {}).resume()
  await until('the incomplete body is cut', () => half.destroyed || half.readableEnded)
  half.destroy()
  await isKept('half')
})

test('unproven bodies that do not end delay no other request', async () => {
  const { hostname, port } = new URL(pod.pushUrl)
  const halves = Array.from({ length: 16 }, () => {
    const half = connect({ host: hostname, port: Number(port) }).on('error', () => {})
    half.write('PUT /config HTTP/1.1\r\nHost: pod\r\nContent-Length: 100\r\n\r\n{')
    return half.resume()
  })
  sequence += 1
  assert.equal((await pod.push(withRoute('chat'))).status, 200)
  assert.equal((await pod.status()).ready, true)
  for (const half of halves) half.destroy()
})

test('a deeply nested document is refused without harm', async () => {
  let deep: unknown = 1
  for (let depth = 0; depth < 60; depth += 1) deep = { deep }
  const { status } = await pod.push(
    withRoute('chat', { sequence: sequence + 1 }, { vector_stores: deep }),
  )
  assert.equal(status, 422)
  const document = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  refusedWith(
    await pod.put('/config', { ...signed(mounts, withRoute('chat')), document }),
    401,
    'bad_signature',
  )
  await isKept('nested')
})

test('the answer to another path or method lists what exists', async () => {
  const other = await fetch(`${pod.pushUrl}/config`)
  assert.equal(other.status, 405)
  assert.match(await other.text(), /PUT/)
  assert.equal((await fetch(`${pod.pushUrl}/`)).status, 404)
})

test('a new public key is trusted without a restart, and a removed one no longer', async () => {
  const next = aSigner()
  sequence += 1
  const envelope = sign(withRoute('chat'), next.privateKey)
  refusedWith(await pod.put('/config', envelope), 403, 'untrusted_key')
  await writeFile(`${mounts.trust}/two.pem`, next.pem)
  assert.equal((await pod.put('/config', envelope)).status, 200)
  await rm(`${mounts.trust}/one.pem`)
  refusedWith(await pod.push(withRoute('chat', { sequence: sequence + 1 })), 403, 'untrusted_key')
  await writeFile(`${mounts.trust}/one.pem`, mounts.signer.pem)
})

test('the admin API is read-only', async () => {
  const answer = await fetch(`${pod.process.adminUrl}/config`, { method: 'PUT', body: 'gw: {}' })
  assert.equal(answer.status, 405)
  assert.match(await answer.text(), /kubectl apply/)
  const status = await pod.admin('/status')
  assert.equal(status.config.hash, (await pod.status()).configuration.hash)
  assert.equal(status.config.keys, 1)
})

test('a changed address applies only to a new pod', async () => {
  sequence += 1
  const gateway = { listen_port: 9999 }
  const { status, body } = await pod.push(withRoute('chat', {}, { gateway }))
  assert.equal(status, 200)
  assert.deepEqual(body.waitsForStart, ['gw.gateway.listen_port'])
  assert.deepEqual((await pod.status()).waitsForStart, body.waitsForStart)
  const warned = () =>
    pod.logged('config_reload').some(({ message }) => /listen_port/.test(String(message)))
  await until('it warns', warned)
  assert.ok(await serves('chat'))
})

test('limits that are set for the first time apply without a new pod', async () => {
  sequence += 1
  const rate_limits = { default: { requests_per_minute: 60 } }
  const { status, body } = await pod.push(withRoute('chat', {}, { rate_limits }))
  assert.equal(status, 200)
  assert.deepEqual(body.waitsForStart, [])
})

test('100 pushes under load fail no request, and each is enforced when it is answered', async () => {
  let over = false
  let answered = 0
  const lanes = Array.from({ length: 4 }, async () => {
    while (!over) {
      const { status, text } = await pod.chat()
      assert.equal(status, 200, text)
      answered += 1
    }
  })
  for (let push = 1; push <= 100; push += 1) {
    sequence += 1
    const routes = ['chat', `extra-${push}`].map((name) => ({
      name,
      strategy: 'single',
      primary: 'fake',
    }))
    const { status, body } = await pod.push(withRoute('chat', {}, { routes }))
    assert.deepEqual([status, body.sequence], [200, sequence])
    if (push % 20 === 0) assert.ok(await serves(`extra-${push}`))
  }
  over = true
  await Promise.all(lanes)
  assert.ok(answered > 0)
})
