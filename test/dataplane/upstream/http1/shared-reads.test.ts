/** Connections that read into one buffer share no bytes beyond the read. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SharedReads } from '../../../../dataplane/connection/http1/shared-reads.ts'

/** Two connections to one server: the sockets of its side, and the reads of the other. */
async function twoLines(t: TestContext, taken: (line: number, chunk: Buffer) => void) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const lines: { near: Socket; far: Socket }[] = []
  for (const line of [0, 1]) {
    const reads = new SharedReads()
    reads.take = (chunk) => taken(line, chunk)
    const arrived = once(server, 'connection')
    const near = connect({ port, host: '127.0.0.1', onread: reads.onread })
    const [far] = await arrived
    lines.push({ near, far })
  }
  t.after(() => {
    for (const { near, far } of lines) for (const one of [near, far]) one.destroy()
    server.close()
  })
  return lines
}

test('kept bytes do not change while other connections read', async (t) => {
  const kept: Buffer[] = []
  let heard = () => {}
  const lines = await twoLines(t, (_line, chunk) => {
    kept.push(chunk)
    heard()
  })
  for (const [line, text] of [
    [0, 'first'],
    [1, 'second'],
    [0, 'third'],
  ] as const) {
    const read = new Promise<void>((resolve) => {
      heard = resolve
    })
    lines[line]?.far.write(text)
    await read
  }
  assert.deepEqual(kept.map(String), ['first', 'second', 'third'])
})

test('a paused connection reads nothing until it is resumed, and the others continue', async (t) => {
  const heard = ['', '']
  let isHeard = () => {}
  const lines = await twoLines(t, (line, chunk) => {
    heard[line] += chunk.toString()
    isHeard()
  })
  const next = () =>
    new Promise<void>((resolve) => {
      isHeard = resolve
    })
  const [first, second] = lines as [(typeof lines)[0], (typeof lines)[0]]
  first.near.pause()
  first.far.write('late')
  let read = next()
  second.far.write('soon')
  await read
  assert.deepEqual(heard, ['', 'soon'])
  read = next()
  first.near.resume()
  await read
  assert.deepEqual(heard, ['late', 'soon'])
})
