/** A client of WebSockets that writes any bytes, and keeps each received frame. */
import { randomBytes } from 'node:crypto'
import { type IncomingHttpHeaders, request } from 'node:http'
import { request as requestSecurely } from 'node:https'
import type { Socket } from 'node:net'
import { type ServerFrame, serverFrames, textFrame } from '../../helpers/client-frames.ts'
import { until } from '../../helpers/until.ts'

interface Event {
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
  readonly [member: string]: any
}

export interface Refused {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Dialled {
  readonly url: string
  readonly path?: string
  /** undefined: the header is not sent. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly ca?: string
}

export class RawClient {
  readonly frames: ServerFrame[] = []
  /** Headers of the handshake's answer. */
  readonly headers: IncomingHttpHeaders
  readonly socket: Socket
  isClosed = false
  #bytes: Buffer
  #text: Buffer[] = []
  readonly events: Event[] = []

  constructor(socket: Socket, first: Buffer, headers: IncomingHttpHeaders) {
    this.socket = socket
    this.headers = headers
    this.#bytes = first
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#take(Buffer.alloc(0))
  }

  create(members: object): void {
    this.socket.write(textFrame(JSON.stringify({ type: 'response.create', ...members })))
  }

  count(type: string): number {
    return this.events.filter((one) => one.type === type).length
  }

  /** The first event of the type after a position, once it has arrived. */
  async event(type: string, from = 0): Promise<Event> {
    const find = () => this.events.slice(from).find((one) => one.type === type)
    await until(`the event ${type}`, () => find() !== undefined || this.isClosed)
    const found = find()
    if (found === undefined) throw new Error(`Closed before ${type}: ${this.shown()}`)
    return found
  }

  /** All events of one turn. */
  async turn(members: object): Promise<readonly Event[]> {
    const from = this.events.length
    const isLast = ({ type }: Event) =>
      /^response\.(completed|incomplete|failed)$|^error$/.test(type)
    this.create(members)
    await until('the last event', () => this.events.slice(from).some(isLast) || this.isClosed)
    return this.events.slice(from)
  }

  /** The code of the close frame, once the connection is closed. */
  async closed(): Promise<number | undefined> {
    await until('the connection is closed', () => this.isClosed)
    const frame = this.frames.find(({ opcode }) => opcode === 8)
    return frame?.payload.readUInt16BE()
  }

  opcodes(opcode: number): readonly ServerFrame[] {
    return this.frames.filter((frame) => frame.opcode === opcode)
  }

  shown(): string {
    return this.frames.map(({ opcode, payload }) => `${opcode} ${payload}`).join('\n')
  }

  #take(chunk: Buffer): void {
    const { frames, end } = serverFrames(Buffer.concat([this.#bytes, chunk]))
    this.#bytes = Buffer.concat([this.#bytes, chunk]).subarray(end)
    for (const frame of frames) {
      this.frames.push(frame)
      if (frame.opcode > 1) continue
      this.#text.push(frame.payload)
      if (frame.isLast) this.events.push(JSON.parse(Buffer.concat(this.#text.splice(0)).toString()))
    }
  }
}

/** Resolves with the connection, or with the refusing answer. */
export function dial({ url, path = '/v1/responses', headers = {}, ca }: Dialled) {
  const all = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
    ...headers,
  }
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  const make = url.startsWith('https') ? requestSecurely : request
  const secure = ca === undefined ? {} : { ca, servername: 'localhost' }
  return new Promise<RawClient | Refused>((resolve, reject) => {
    const outgoing = make(url + path, { ...secure, agent: false, headers: sent as never })
    outgoing.on('upgrade', (answer, socket, head) =>
      resolve(new RawClient(socket as Socket, head, answer.headers)),
    )
    outgoing.on('response', async (answer) => {
      const text = Buffer.concat(await Array.fromAsync<Buffer>(answer)).toString()
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text })
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

export async function open(dialled: Dialled): Promise<RawClient> {
  const client = await dial(dialled)
  if (client instanceof RawClient) return client
  throw new Error(`Refused with ${client.status}: ${client.text}`)
}

export async function refused(dialled: Dialled): Promise<Refused> {
  const client = await dial(dialled)
  if (!(client instanceof RawClient)) return client
  client.socket.destroy()
  throw new Error('It was not refused.')
}
