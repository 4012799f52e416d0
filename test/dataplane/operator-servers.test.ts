/** The servers of metrics and of the admin API: their readers must not slow down the process for clients. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import { createMetricsServer } from '../../dataplane/listener/server.ts'

const GET = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'

let renders = 0
let isHeld = true
let release = () => {}
const held = new Promise<void>((resolve) => {
  release = resolve
})

const app = createMetricsServer(async () => {
  renders++
  if (isHeld) await held
  return { type: 'text/plain', text: 'gw_up 1\n' }
})
await app.listen({ host: '127.0.0.1', port: 0 })
after(() => app.close())

function open() {
  return connect((app.server.address() as AddressInfo).port, '127.0.0.1')
}

test('a connection with a second request before the first answer is closed, and reads nothing more', async () => {
  const socket = open()
  socket.on('error', () => {})
  socket.resume().write(GET.repeat(1000))
  await once(socket, 'close')
  assert.equal(renders, 1)
})

test('a connection that waits for each answer is kept', async () => {
  isHeld = false
  release()
  const socket = open().setEncoding('utf8')
  for (let asked = 0; asked < 20; asked++) {
    socket.write(GET)
    let answer = ''
    while (!answer.endsWith('gw_up 1\n')) answer += (await once(socket, 'data'))[0]
    assert.match(answer, /^HTTP\/1\.1 200/)
  }
  socket.destroy()
})

test('requests that never end, answers that are never read and connections have bounds', () => {
  const { headersTimeout, requestTimeout, timeout, maxConnections } = app.server
  for (const [bound, most] of [
    [headersTimeout, 10_000],
    [requestTimeout, 60_000],
    [timeout, 60_000],
    [maxConnections, 256],
  ] as const)
    assert.ok(bound > 0 && bound <= most, `${bound} is not within ${most}`)
})
