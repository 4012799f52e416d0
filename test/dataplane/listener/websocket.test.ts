/**
 * A WebSocket whose client reads nothing, or stays for too long, on real sockets and a clock that the test advances.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { openAiResponses } from '../../../dataplane/apis/openai-responses/api.ts'
import { responsesSocket } from '../../../dataplane/apis/openai-responses/socket/api.ts'
import { responsesWire } from '../../../dataplane/apis/openai-responses/wire.ts'
import { Deadlines } from '../../../dataplane/base/clock.ts'
import { Bodies } from '../../../dataplane/body/bodies.ts'
import {
  SocketConnection,
  type SocketOwner,
} from '../../../dataplane/listener/websocket/connection.ts'
import { Greeting } from '../../../dataplane/listener/websocket/greeting.ts'
import type { SocketTurn } from '../../../dataplane/listener/websocket/turn.ts'
import { ClientResponse } from '../../../dataplane/request/response.ts'
import { serverFrames, textFrame } from '../../helpers/client-frames.ts'
import { aClock } from '../../helpers/clock.ts'
import { until } from '../../helpers/until.ts'

const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())

async function pair(): Promise<{ near: Socket; far: Socket }> {
  const { port } = server.address() as AddressInfo
  const far = connect(port, '127.0.0.1')
  const [near] = (await once(server, 'connection')) as [Socket]
  return { near, far }
}

const LAST_AT = 3_600_000

async function opened() {
  const { near, far } = await pair()
  const clock = aClock()
  const deadlines = new Deadlines(clock)
  const responses: ClientResponse[] = []
  const owner: SocketOwner = {
    bytesMax: 1_000_000,
    heartbeatMs: 1e9,
    silenceMs: 1e9,
    isClosing: false,
    now: () => clock.now(),
    serve(turn: SocketTurn) {
      const call = { id: 'id', incoming: turn, outgoing: turn, receivedAt: 0 }
      responses.push(new ClientResponse(call, responsesWire, { clock, deadlines }, []))
      return new Promise(() => {})
    },
    lastEvent: () => responsesSocket.lastEvent('id'),
    gone() {},
  }
  const connection = new SocketConnection(
    {
      socket: near,
      greeting: new Greeting({ url: '/v1/responses', pathModel: undefined, rawHeaders: [] }),
      api: { ...openAiResponses, socket: responsesSocket },
      dialogue: responsesSocket.begin(new Bodies(1e9)),
      endsAt: LAST_AT,
      lastAt: LAST_AT,
    },
    owner,
  )
  return { near, far, clock, deadlines, responses, connection }
}

const EVENT = Buffer.from(`event: a\ndata: {"a":"${'x'.repeat(100_000)}"}\n\n`)

test('a client that reads nothing for 30 seconds while bytes wait is cut, and until then its source waits', async () => {
  const { near, far, clock, deadlines, responses } = await opened()
  far.pause()
  far.write(textFrame('{}'))
  await until('the message is served', () => responses.length === 1)
  const response = responses[0] ?? assert.fail()
  let drains = 0
  response.heartbeat(1e9)
  response.commit({ drained: () => drains++ })
  const writesMax = 1000
  let writes = 0
  for (; writes < writesMax && response.write(EVENT); writes++) await new Promise(setImmediate)
  assert.ok(writes < writesMax, 'the socket never asks its source to wait')
  const turn = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.pass(1000)
      deadlines.sweep()
    }
  }
  turn(29)
  assert.equal(near.destroyed, false)
  assert.equal(drains, 0)
  turn(3)
  assert.equal(near.destroyed, true)
  await until('the response knows', () => response.left)
  far.destroy()
})

test('a client that reads its bytes late is not cut, and its source continues', async () => {
  const { near, far, responses } = await opened()
  far.pause()
  far.write(textFrame('{}'))
  await until('the message is served', () => responses.length === 1)
  const response = responses[0] ?? assert.fail()
  let drains = 0
  response.commit({ drained: () => drains++ })
  while (response.write(EVENT)) await new Promise(setImmediate)
  far.resume()
  await until('the source goes on', () => drains === 1)
  assert.equal(near.destroyed, false)
  far.destroy()
})

test('a connection of an hour ends with the event after which clients open another one, and with 1001', async () => {
  const { far, connection } = await opened()
  const pieces: Buffer[] = []
  far.on('data', (piece: Buffer) => pieces.push(piece))
  connection.look(LAST_AT - 1)
  assert.equal(pieces.length, 0)
  connection.look(LAST_AT)
  await once(far, 'end')
  const [event, close] = serverFrames(Buffer.concat(pieces)).frames
  const { type, status, error } = JSON.parse(String(event?.payload))
  assert.deepEqual([type, status, error.code], ['error', 400, 'websocket_connection_limit_reached'])
  assert.deepEqual([close?.opcode, close?.payload.readUInt16BE()], [8, 1001])
  far.destroy()
})
