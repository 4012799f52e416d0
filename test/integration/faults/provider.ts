/** A provider that speaks OpenAI's wire and breaks as the test says, request by request. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { answerWhole, type Manner, refuse, streamAnswer } from './speech.ts'

/** The behaviour for one request. */
export type Deed =
  | { readonly does: 'answer'; readonly manner?: Manner }
  | {
      readonly does: 'refuse'
      readonly status: number
      readonly code: string
      readonly retryAfterSeconds?: number
    }
  /** The connection is reset before the first byte. */
  | { readonly does: 'reset' }
  /** Nothing comes, ever. */
  | { readonly does: 'silence' }
  /** Bytes that are not HTTP, and a close. */
  | { readonly does: 'garbage' }
  /** The connection is closed properly before the first byte. */
  | { readonly does: 'hang_up' }

export interface Asked {
  /** Milliseconds on the clock of `performance.now()`. */
  readonly at: number
  readonly body: {
    readonly model: string
    readonly stream?: boolean
    readonly stream_options?: { readonly include_usage?: boolean }
    readonly messages: readonly { readonly role: string }[]
  }
  /** How many requests came before it. */
  readonly index: number
}

/** One of the provider's services: a separate upstream to the gateway. */
export class Service {
  deed: (asked: Asked) => Deed = () => ({ does: 'answer' })
  readonly asked: Asked[] = []
  /** Requests that are being answered now, and the maximum since `forget`. */
  inFlight = 0
  inFlightMax = 0
  /** Requests whose connection closed before their answer was complete. */
  abandoned = 0
  /** Usage reported in complete answers. */
  readonly served = { prompt: 0, completion: 0 }

  forget(): void {
    this.asked.length = 0
    this.inFlightMax = this.inFlight
    this.abandoned = 0
    this.served.prompt = 0
    this.served.completion = 0
  }
}

export interface FaultyProvider {
  /** Created at the first call. */
  service(name: string): Service
  /** The endpoint under which a gateway reaches that service. */
  endpoint(name: string): string
  /** Connections that are open now. */
  sockets(): number
  close(): Promise<void>
}

export async function startFaultyProvider(): Promise<FaultyProvider> {
  const services = new Map<string, Service>()
  const sockets = new Set<Socket>()
  const server = createServer({ keepAliveTimeout: 5000 }, (incoming, outgoing) => {
    const name = (incoming.url ?? '').split('/')[1] ?? ''
    void serve(serviceOf(name), incoming, outgoing)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo

  function serviceOf(name: string): Service {
    const service = services.get(name) ?? new Service()
    services.set(name, service)
    return service
  }

  return {
    service: serviceOf,
    endpoint: (name) => `http://127.0.0.1:${port}/${name}/v1`,
    sockets: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function serve(
  service: Service,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  service.inFlight++
  service.inFlightMax = Math.max(service.inFlightMax, service.inFlight)
  outgoing.on('close', () => {
    service.inFlight--
    if (!outgoing.writableFinished) service.abandoned++
  })
  const body = await readBody(incoming)
  if (body === undefined) return
  const asked = { at: performance.now(), body, index: service.asked.length }
  service.asked.push(asked)
  await perform(service.deed(asked), asked, outgoing, service)
}

async function perform(
  deed: Deed,
  asked: Asked,
  outgoing: ServerResponse,
  service: Service,
): Promise<void> {
  const { socket } = outgoing
  if (deed.does === 'refuse') refuse(outgoing, deed)
  else if (deed.does === 'reset') socket?.resetAndDestroy()
  else if (deed.does === 'hang_up') socket?.end()
  else if (deed.does === 'garbage') socket?.end('220 mail.example.test ESMTP\r\n')
  else if (deed.does === 'answer') {
    const { manner = {} } = deed
    if (manner.slowMs !== undefined && asked.body.stream !== true)
      await delay(manner.slowMs, undefined, { ref: false })
    const tell = asked.body.stream === true ? streamAnswer : answerWhole
    const usage = await tell(outgoing, asked.body, manner)
    if (usage === undefined) return
    service.served.prompt += usage.prompt_tokens
    service.served.completion += usage.completion_tokens
  }
}

async function readBody(incoming: IncomingMessage): Promise<Asked['body'] | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    // The gateway disconnected before its request was complete.
    return undefined
  }
}
