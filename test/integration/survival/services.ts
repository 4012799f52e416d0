/** All services that a gateway calls, on one port: each request is answered as the order in its text says. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { deed, type Order, readOrder, written } from './orders.ts'

type Fields = Readonly<Record<string, unknown>>
// biome-ignore lint/suspicious/noExplicitAny: it reads what it is sent.
type Body = any
type Answering = (
  outgoing: ServerResponse,
  body: Body,
  order: Pick<Order, 'id' | 'deeds'>,
) => unknown

export interface Services {
  readonly url: string
  /** Called when the upstream of a request has got it, by the id of its order. */
  readonly onCalled: Map<number, () => void>
  close(): Promise<void>
}

/** Vectors have room for an order, because a store gets nothing else of a request. */
export const DIMENSIONS = 16
const RIGHT: Pick<Order, 'id' | 'deeds'> = {
  id: -1,
  deeds: { chat: 0, shadow: 0, vectors: 0, store: 0, input: 0, output: 0, client: 0 },
}
const LATE_MS = 40
/** Pieces of a stream; together they are longer than the text that a guardrail holds back. */
const PIECES = 8
const FILLER = 'word '.repeat(24)

export async function startServices(): Promise<Services> {
  const onCalled = new Map<number, () => void>()
  const server = createServer(async (incoming, outgoing) => {
    outgoing.on('error', () => {})
    const text = await textOf(incoming)
    const [, place = ''] = (incoming.url ?? '').split('/')
    const answer = place === 'sink' || text === undefined ? undefined : ANSWERS[place]
    if (place === 'sink') receive(outgoing)
    if (answer === undefined) return
    const body: Body = JSON.parse(text || '{}')
    const order = place === 'store' ? fromVector(body.query) : (readOrder(text ?? '') ?? RIGHT)
    if (place === 'model') onCalled.get(order.id)?.()
    await answer(outgoing, body, order)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onCalled,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** undefined: the gateway left in the middle of its request. */
async function textOf(incoming: IncomingMessage): Promise<string | undefined> {
  try {
    return Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
  } catch {
    return undefined
  }
}

let received = 0

/** A receiver of usage and traces resets, refuses, accepts and is silent, in turn. */
function receive(outgoing: ServerResponse): void {
  const turn = received++ % 4
  if (turn === 0) outgoing.destroy()
  else if (turn < 3) outgoing.writeHead(turn === 1 ? 503 : 200).end()
}

const ANSWERS: Readonly<Record<string, Answering>> = {
  model: (outgoing, body, order) => model(outgoing, body, order, deed(order, 'chat')),
  shadow: (outgoing, body, order) => model(outgoing, body, order, deed(order, 'shadow')),
  vectors(outgoing, { input }, order) {
    const what = deed(order, 'vectors')
    const length = what === 'of another length' ? 3 : DIMENSIONS
    const inputs = Array.isArray(input) ? input : [input]
    const data = inputs.map((text: string, index: number) => {
      return { object: 'embedding', index, embedding: toVector(text).slice(0, length) }
    })
    const usage = { prompt_tokens: 1, total_tokens: 1 }
    return whole(outgoing, { object: 'list', model: 'v', data, usage }, what)
  },
  store(outgoing, _, order) {
    const payload = { text: 'A passage.', tenant: 'acme' }
    const points = [{ id: '1', version: 0, score: 0.9, payload, vector: null }]
    return whole(outgoing, { result: { points }, status: 'ok', time: 0 }, deed(order, 'store'))
  },
  async sidecar(outgoing, body, order) {
    const isInput = body.messages !== undefined
    const what = deed(order, isInput ? 'input' : 'output')
    if (what.startsWith('late')) await delay(LATE_MS)
    const masked = isInput ? { messages: body.messages } : { choices: body.choices }
    const blocked = { body: 'Not here.', status_code: 403, reason: 'word list' }
    const action = what.endsWith('block') ? blocked : what === 'mask' ? { body: masked } : {}
    return whole(outgoing, { action }, what)
  },
}

function toVector(text: string): number[] {
  const { id, deeds } = readOrder(text) ?? RIGHT
  const numbers = [1, id + 1, ...Object.values(deeds)]
  return [...numbers, ...new Array<number>(DIMENSIONS - numbers.length).fill(0)]
}

function fromVector([, id = 0, ...places]: readonly number[]): Pick<Order, 'id' | 'deeds'> {
  const names = Object.keys(RIGHT.deeds)
  const deeds = Object.fromEntries(names.map((name, at) => [name, places[at] ?? 0]))
  return { id: id - 1, deeds: deeds as Order['deeds'] }
}

const SHAPELESS = '{"choices":[5,null],"data":7,"result":[],"action":"x"}'

/** Answers with a JSON object, or as the deed says. */
async function whole(outgoing: ServerResponse, right: Fields, what: string): Promise<void> {
  const text = JSON.stringify(right)
  const half = text.slice(0, text.length / 2)
  const head = (status: number, length = text.length) =>
    outgoing.writeHead(status, { 'content-type': 'application/json', 'content-length': length })
  switch (what) {
    case 'silent':
      return
    case 'reset':
      outgoing.socket?.resetAndDestroy()
      return
    case 'half a head':
      outgoing.socket?.end('HTTP/1.1 200 OK\r\nContent-Ty')
      return
    case 'reset in the body':
      head(200).write(half)
      await delay(5)
      outgoing.socket?.resetAndDestroy()
      return
    case 'silent in the body':
      head(200).write(half)
      return
    case 'too short':
      head(200).write(half)
      await delay(5)
      outgoing.socket?.end()
      return
    case 'not JSON':
      head(200, half.length).end(half)
      return
    case 'of another shape':
      head(200, SHAPELESS.length).end(SHAPELESS)
      return
    case 'empty':
      head(200, 0).end()
      return
    case '400':
    case '429':
    case '500': {
      const error = JSON.stringify({ error: { message: `Said ${what}.` } })
      head(Number(what), error.length).end(error)
      return
    }
    default:
      head(200).end(text)
  }
}

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

async function model(
  outgoing: ServerResponse,
  body: Body,
  order: Pick<Order, 'id' | 'deeds'>,
  what: string,
) {
  const isOther = what.startsWith('the other form')
  const isStream = (body.stream === true) !== isOther
  const content = `${written(order as Order)} ${FILLER}`
  if (isStream) return await streamed(outgoing, content, what)
  const message = { role: 'assistant', content }
  const choices = what === 'no content' ? [] : [{ index: 0, message, finish_reason: 'stop' }]
  const usage = what === 'no usage' ? {} : { usage: USAGE }
  const right = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, ...usage }
  await whole(outgoing, right, what.endsWith('and a reset') ? 'reset in the body' : what)
}

const ODD_EVENTS: Readonly<Record<string, string>> = {
  'not JSON': 'data: {"choices": [{\n\n',
  'broken events': 'event\ndata\n: x\r\rdata: 5\n\ndata: null\n\n',
  'of another shape': 'data: {"choices": [5, null, {"delta": 7}]}\n\n',
  'an error event': 'data: {"error": {"message": "Broken.", "code": 500}}\n\n',
}

async function streamed(outgoing: ServerResponse, content: string, what: string): Promise<void> {
  if (['reset', 'silent', 'half a head', '400', '429', '500'].includes(what)) {
    await whole(outgoing, {}, what)
    return
  }
  const say = (text: string) => void outgoing.write(`data: ${text}\n\n`)
  const chunk = (choice: Fields) =>
    say(JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] }))
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.flushHeaders()
  if (what === 'empty') {
    outgoing.end()
    return
  }
  for (let piece = 0; piece < PIECES && what !== 'no content'; piece++) {
    chunk({ delta: { content }, finish_reason: null })
    await delay(1)
    if (piece < PIECES / 2) continue
    if (what === 'silent in the body') return
    if (what === 'reset in the body' || what === 'the other form and a reset') {
      outgoing.socket?.resetAndDestroy()
      return
    }
    if (what === 'too short') {
      outgoing.socket?.end()
      return
    }
    const odd = ODD_EVENTS[what]
    if (odd !== undefined) outgoing.write(odd)
  }
  chunk({ delta: {}, finish_reason: 'stop' })
  if (what !== 'no usage') say(JSON.stringify({ choices: [], usage: USAGE }))
  say('[DONE]')
  if (what === 'silent after the end') return
  await delay(5)
  if (what === 'a reset after the end') outgoing.socket?.resetAndDestroy()
  else outgoing.end()
}
