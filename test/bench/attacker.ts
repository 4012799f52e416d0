/** A thread that attacks until it is ended: raw connections, opened again whenever the gateway closes them. */
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { Attack, Orders } from '../helpers/attack-list.ts'

const MEBIBYTE = 1_048_576
/** Pause after each answer: at full speed the attackers would need the measured processor. */
const PAUSE_MS = 100
/** Attackers use other machines, so this thread gets the processor after all that is measured. */
setPriority(10)
const { attack, url, keys, isOn } = workerData as Orders
const { hostname, port } = new URL(url)

type Sends = (socket: Socket) => Promise<void>

function head(key: string | undefined, framing: string): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: bench',
    `Authorization: Bearer ${key ?? 'ghost'}`,
    'Content-Type: application/json',
    framing,
    '',
    '',
  ].join('\r\n')
}

function lists(model: string): Buffer {
  const start = `{"model":"${model}","messages":[{"role":"user","content":"hi"}],"x":[`
  const pieces = Math.floor((8 * MEBIBYTE - start.length - 6) / 3)
  return Buffer.from(`${start}${'[],'.repeat(pieces)}[]]}`)
}

function text(model: string): Buffer {
  const content = 'x'.repeat(8 * MEBIBYTE - 200)
  return Buffer.from(JSON.stringify({ model, messages: [{ role: 'user', content }] }))
}

function sends(key: string | undefined, body: Buffer): Sends {
  return (socket) => write(socket, [head(key, `Content-Length: ${body.length}`), body])
}

/** `odd`: further lines of the head. */
function sendsBytes(key: string | undefined, bytes: number, odd = ''): Sends {
  const body = text('chat').subarray(0, bytes)
  const chunks = Array.from({ length: 64 }, (_, part) => {
    const size = body.length / 64
    const from = body.subarray(part * size, (part + 1) * size).toString('latin1')
    return Buffer.from([...from].map((one) => `1\r\n${one}\r\n`).join(''))
  })
  return (socket) =>
    write(socket, [head(key, `${odd}Transfer-Encoding: chunked`), ...chunks, '0\r\n\r\n'])
}

/** All bytes except the last ones. */
function sendsMost(key: string | undefined): Sends {
  const body = lists('chat').subarray(0, -64)
  return (socket) => write(socket, [head(key, `Content-Length: ${body.length + 64}`), body])
}

function asks(model: string, isStream: boolean): Sends {
  const messages = [{ role: 'user', content: 'hi' }]
  return sends(keys.plain, Buffer.from(JSON.stringify({ model, messages, stream: isStream })))
}

async function write(socket: Socket, pieces: readonly (string | Buffer)[]): Promise<void> {
  for (const piece of pieces) {
    if (!socket.writable) return
    if (!socket.write(piece)) {
      await new Promise<void>((resolve) => {
        socket.once('drain', resolve)
        socket.once('close', resolve)
      })
    }
  }
}

/** How it sends, and on how many connections. */
const WAYS: Readonly<Record<Attack, () => [Sends, number]>> = {
  'no attack': () => [async () => {}, 0],
  'bodies of 4 MiB in chunks of one byte': () => [sendsBytes(keys.plain, 4 * MEBIBYTE), 2],
  'the same with a key without the route': () => [sendsBytes(keys.routeless, 4 * MEBIBYTE), 2],
  'the same with a header that only Node accepts': () => [
    sendsBytes(keys.plain, 4 * MEBIBYTE, 'Trailer: x-none\r\n'),
    2,
  ],
  'five bodies of 8 MiB of empty lists at once': () => [sends(keys.plain, lists('chat')), 5],
  'a tenant above its rate sends lists of 8 MiB': () => [sends(keys.limited, lists('chat')), 2],
  'a key without the route sends lists of 8 MiB': () => [sends(keys.routeless, lists('chat')), 2],
  'a key without the route sends texts of 8 MiB': () => [sends(keys.routeless, text('chat')), 2],
  'a key without scope sends lists of 8 MiB': () => [sends(keys.scopeless, lists('chat')), 2],
  'unknown key, lists of 8 MiB': () => [sends('ghost', lists('chat')), 2],
  '24 unfinished bodies of 8 MiB, two slots': () => [sendsMost(keys.two), 24],
  'upstream: an event of 1 MiB in chunks of one byte': () => [asks('event', true), 2],
  'upstream: a whole answer of 30 MiB of lists': () => [asks('list', false), 2],
  'upstream: a whole answer of 16 MiB of brackets': () => [asks('deep', false), 2],
}

/** Resolves while there is an attack. */
async function on(): Promise<void> {
  while (Atomics.load(isOn, 0) === 0) await delay(10)
}

/** One connection after the other; the next request as soon as there is an answer. */
async function attackOn(way: Sends): Promise<never> {
  for (;;) {
    await on()
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    // A listener for each wait of a body.
    socket.setMaxListeners(0)
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {})
    let answered: () => void = () => {}
    socket.on('data', () => answered())
    while (!socket.destroyed) {
      const answer = new Promise<void>((resolve) => {
        answered = resolve
      })
      await on()
      await way(socket)
      await Promise.race([answer, closed])
      // A client that continues at once after a refusal.
      if (socket.readableEnded) socket.destroy()
      await delay(PAUSE_MS)
    }
    await closed
  }
}

const [way, connections] = WAYS[attack]()
for (let count = 0; count < connections; count++) void attackOn(way)
