/**
 * Clients that read slowly while upstreams send fast: buffered bytes are bounded, other clients do
 * not notice, and clients that read nothing at all are cut.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setInterval as every, setImmediate as turn } from 'node:timers/promises'
import { openAiWire } from '../../dataplane/apis/openai/wire.ts'
import { Deadlines } from '../../dataplane/base/clock.ts'
import { NodeExchange } from '../../dataplane/listener/node-exchange.ts'
import { ClientResponse } from '../../dataplane/request/response.ts'
import { cases } from '../helpers/cases.ts'
import { recordResult } from '../helpers/results.ts'
import { slowClock } from '../helpers/slow-clock.ts'
import { until } from '../helpers/until.ts'
import { ask } from './faults/caller.ts'
import { type Rig, startRig } from './faults/rig.ts'

const READERS = cases(100, 500)
const AT_ONCE = 50
const BYTES_A_SECOND = 1024
const SECONDS = 16
const STALL_MS = 30_000
/**
 * The memory that one slow reader may cost: in undici, the response and its socket, before
 * collection.
 */
const BYTES_EACH_MAX = 1024 * 1024
/** The other memory of a gateway under load, with any number of slow readers. */
const BYTES_BESIDES_MAX = 96 * 2 ** 20
/**
 * The growth of memory while they all wait: a few young generations; an unlimited upstream sends
 * more in a second.
 */
const GROWTH_WAITING_MAX = 256 * 2 ** 20
const NORMAL_CALLS = 300

/**
 * On a busy machine a reader may wait longer than the 30 s after which it seems to read nothing.
 */
const CLOCK_SLOWER = 8

/**
 * On loopback a kernel always announces at least this much room. A client that reads less for long
 * seems to read nothing.
 */
const GULP_BYTES = 80 * 1024
const GULP_MS = 10_000

/**
 * Reads this many bytes each second, in one piece, and a larger amount now and then, each reader at
 * a different time.
 */
class SlowReader {
  static #made = 0
  bytes = 0
  closed = false
  /** By the clock: if this process gets little CPU time, seconds are longer than the timer's. */
  #gulpedAt = performance.now() - ((SlowReader.#made++ * 1000) % GULP_MS)
  #wanted = 0
  readonly #socket: Socket
  readonly #timer: NodeJS.Timeout

  constructor(url: string, request: string) {
    const { hostname, port } = new URL(url)
    const buffer = Buffer.alloc(BYTES_A_SECOND)
    const callback = (length: number) => {
      this.bytes += length
      this.#wanted -= length
      return this.#wanted > 0
    }
    this.#socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback } })
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.closed = true
    })
    this.#socket.write(request)
    this.#timer = setInterval(() => this.#read(), 1000)
  }

  #read(): void {
    const now = performance.now()
    const gulps = now - this.#gulpedAt >= GULP_MS
    if (gulps) this.#gulpedAt = now
    this.#wanted = gulps ? GULP_BYTES : BYTES_A_SECOND
    this.#socket.resume()
  }

  leave(): void {
    clearInterval(this.#timer)
    this.#socket.destroy()
  }
}

describe(`${READERS} readers of ${BYTES_A_SECOND} bytes a second and a gulp now and then`, () => {
  let rig: Rig
  before(async () => {
    rig = await startRig({
      env: slowClock(CLOCK_SLOWER),
      upstreams: {
        // Slow readers are not an upstream's fault: its timer must not run while no client reads.
        flood: {
          idle_timeout_seconds: 1,
          // The whole answer has no end, so its timer would cut them.
          timeout_seconds: 3600,
          // Many connect at once to a server that shares this process.
          connect_timeout_seconds: 60,
          circuit_breaker: { failure_threshold: 1 },
        },
        normal: {},
      },
      routes: ['flood', 'normal'].map((name) => ({ name, strategy: 'single', primary: name })),
    })
    rig.service('flood').deed = () => ({ does: 'answer', manner: { floodBytes: 4096 } })
  })
  after(() => rig.stop())

  /** Milliseconds of the slowest of a hundred calls, in sequence. */
  async function p99(): Promise<number> {
    const times: number[] = []
    for (let call = 0; call < NORMAL_CALLS; call++) {
      const { url } = rig.gateway
      const seen = await ask({ url, key: rig.key, route: 'normal', stream: call % 2 === 0 })
      assert.equal(seen.ending, 'answered')
      times.push(seen.milliseconds)
    }
    return times.toSorted((a, b) => a - b)[Math.floor(NORMAL_CALLS * 0.99)] ?? 0
  }

  async function residentBytes(): Promise<number> {
    return (await rig.gauges()).sum('process_resident_memory_bytes')
  }

  test('memory is bounded, and other clients do not notice', { timeout: 3_600_000 }, async (t) => {
    await p99()
    const alone = [await p99()]
    const before = await residentBytes()
    const request = rig.bytes('flood', { stream: true })
    const readers: SlowReader[] = []
    const leave = () => {
      for (const reader of readers) reader.leave()
    }
    t.after(leave)
    // The kernel's buffers fill first, at the full speed of the upstream: all at once that takes
    // minutes on a slow core.
    while (readers.length < READERS) {
      for (let more = 0; more < AT_ONCE; more++) {
        readers.push(new SlowReader(rig.gateway.url, request))
      }
      let seen = {}
      const wait = async () => {
        const gauges = await rig.gauges()
        const held = gauges.resources('WriteWrap') + gauges.resources('SimpleWriteWrap')
        const streams = gauges.sum('gw_streams_open')
        const closed = readers.filter((reader) => reader.closed).length
        seen = { readers: readers.length, streams, held, closed }
        assert.equal(closed, 0, `none of them is cut: ${JSON.stringify(seen)}`)
        return streams === readers.length && held >= readers.length
      }
      await until('all of them stream and wait', wait, 600).catch((cause: unknown) => {
        throw new Error(JSON.stringify(seen), { cause })
      })
    }
    const residents: number[] = []
    const beside: number[] = []
    const began = performance.now()
    for await (const _ of every(1000)) {
      residents.push(await residentBytes())
      beside.push(await p99())
      if (performance.now() - began > SECONDS * 1000) break
    }
    const grown = Math.max(...residents) - before
    const isNobodyCut = readers.every(({ closed, bytes }) => !closed && bytes > 0)
    const gauges = await rig.gauges()
    leave()
    await rig.atRest()
    // Measured before and after, because other processes may use the machine at any time.
    alone.push(await p99())
    t.diagnostic(
      `p99 alone ${shown(alone)} ms, beside them ${shown(beside)} ms; resident memory ` +
        `grew by ${(grown / 2 ** 20).toFixed(0)} MiB, ${(grown / READERS / 1024).toFixed(0)} KiB each`,
    )
    const bytesMax = BYTES_BESIDES_MAX + READERS * BYTES_EACH_MAX
    assert.ok(grown < bytesMax, `resident memory grew by ${grown} bytes`)
    const waiting = Math.max(...residents) - (residents[0] ?? 0)
    assert.ok(waiting < GROWTH_WAITING_MAX, `${waiting} bytes more while they wait`)
    const usual = beside.toSorted((a, b) => a - b)[Math.floor(beside.length / 2)] ?? 0
    const figures = `${usual.toFixed(0)} ms, and ${Math.max(...alone).toFixed(0)} ms without them`
    recordResult('beside', figures, `${READERS} readers`)
    assert.ok(isNobodyCut, 'none of them is cut')
    assert.equal(gauges.sum('gw_breaker_state', 'upstream="flood",state="closed"'), 1)
  })
})

function shown(milliseconds: readonly number[]): string {
  return milliseconds.map((one) => one.toFixed(1)).join(', ')
}

/** The gateway's response on a real socket and a clock that the test advances. */
describe('a client that reads nothing', () => {
  let server: Server
  let now = 0
  const clock = { now: () => now, wall: () => now }
  const deadlines = new Deadlines(clock)
  const opened: ((response: ClientResponse) => void)[] = []

  before(async () => {
    server = createServer((incoming, outgoing) => {
      const exchange = new NodeExchange(incoming, outgoing)
      const call = { id: 'c1', incoming: exchange, outgoing: exchange, receivedAt: now }
      opened.shift()?.(new ClientResponse(call, openAiWire, { clock, deadlines }, []))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  async function open(): Promise<{ response: ClientResponse; client: Socket }> {
    const { promise, resolve } = Promise.withResolvers<ClientResponse>()
    opened.push(resolve)
    // A server that listens on a port has an address of this kind.
    const { port } = server.address() as AddressInfo
    const client = connect({ host: '127.0.0.1', port }).on('error', () => {})
    client.pause()
    client.write('GET / HTTP/1.1\r\nHost: gateway.test\r\n\r\n')
    return { response: await promise, client }
  }

  async function pass(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 1000) {
      now += 1000
      deadlines.sweep()
      await turn()
    }
  }

  test('of a stream is cut after 30 s, and not before', async (t) => {
    const { response, client } = await open()
    t.after(() => client.destroy())
    response.heartbeat(5000)
    response.commit(SOURCE)
    response.write(MUCH)
    await turn()
    await pass(STALL_MS - 1000)
    assert.equal(response.left, false)
    await pass(2000)
    assert.equal(response.left, true)
    assert.equal(deadlines.size, 0)
  })

  for (const [what, finish] of [
    ['of a whole answer', (one: ClientResponse) => one.send(200, 'text/plain', MUCH)],
    ['of the rest of a stream', endBehindMuch],
  ] as const) {
    test(`${what} is cut after 30 s, though the answer has ended`, async (t) => {
      const { response, client } = await open()
      t.after(() => client.destroy())
      finish(response)
      await turn()
      await pass(STALL_MS - 1000)
      assert.equal(deadlines.size, 1)
      await pass(3000)
      assert.equal(deadlines.size, 0)
      await until('its connection is closed', () => connectionsOf(server).then((n) => n === 0))
    })
  }

  test('but a client that reads a little now and then is not cut', async (t) => {
    const { response, client } = await open()
    t.after(() => client.destroy())
    endBehindMuch(response)
    for (let round = 0; round < 6; round++) {
      await pass(STALL_MS - 5000)
      await take(client, 6_000_000)
      await turn()
    }
    assert.equal(deadlines.size, 1)
  })
})

/** The kernel reports room only when a large part of its buffer is free. */
function take(client: Socket, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    let taken = 0
    const count = (piece: Buffer) => {
      taken += piece.length
      if (taken < bytes) return
      client.off('data', count).pause()
      resolve()
    }
    client.on('data', count).on('close', resolve).resume()
  })
}

const SOURCE = { drained: () => undefined }

/** More than all buffers between here and the client. */
const MUCH = Buffer.alloc(60_000_000, 'x')

function endBehindMuch(response: ClientResponse): void {
  response.commit(SOURCE)
  response.write(MUCH)
  response.end()
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
}
