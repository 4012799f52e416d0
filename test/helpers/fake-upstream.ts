/** A scriptable OpenAI-compatible upstream, a gateway in front of it, and a client that records how an answer ends. */
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { aKey } from './a-key.ts'
import { type GatewayOptions, type GatewayProcess, startGateway } from './gateway-process.ts'
import { type Chosen, configuredAt, refusalAt } from './strict-vendors.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Readonly<Record<string, unknown>>
  /** The received body, with the text of its numbers. */
  readonly text: string
}

export type Reply = (outgoing: ServerResponse, asked: Asked) => void | Promise<void>

export interface FakeUpstream {
  /** The origin, without a path. */
  readonly url: string
  /** Every POST that arrived whole. */
  readonly asked: Asked[]
  /** The first answers, each once. */
  readonly script: Reply[]
  /**
   * The vendor that it plays, whose checker refuses requests. undefined: those that `startFront` has configured here,
   * else the one that serves the path, OpenAI for chat completions.
   */
  vendor: Chosen
  /** The answer after the end of the script. */
  reply: Reply
  /** The body of the answer to GET .../models. */
  models: unknown
  /** Answers to GET .../models. */
  listings: number
  /** The answer to probes. */
  healthy: boolean
  probes: number
  /** Answers whose connection closed before they were complete. */
  abandoned: number
  close(): Promise<void>
}

/** `at`: another address of this machine, and a port. */
export async function startUpstream(
  reply: Reply = whole(),
  { host, port }: { readonly host: string; readonly port: number } = { host: '127.0.0.1', port: 0 },
): Promise<FakeUpstream> {
  const server = createServer((incoming, outgoing) => void take(incoming, outgoing))
  const upstream = {
    url: '',
    asked: [] as Asked[],
    script: [] as Reply[],
    vendor: undefined as Chosen,
    reply,
    models: undefined as unknown,
    listings: 0,
    healthy: true,
    probes: 0,
    abandoned: 0,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  async function take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (incoming.method === 'GET' && incoming.url?.includes('/models') && upstream.models) {
      upstream.listings++
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify(upstream.models))
      return
    }
    if (incoming.method === 'GET') {
      upstream.probes++
      outgoing.writeHead(upstream.healthy ? 200 : 503).end()
      return
    }
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) upstream.abandoned++
    })
    try {
      const bytes = Buffer.concat(await Array.fromAsync<Buffer>(incoming))
      const type = incoming.headers['content-type'] ?? ''
      const body = type.startsWith('multipart/')
        ? await textsOf(bytes, type)
        : JSON.parse(bytes.toString())
      const asked = {
        path: incoming.url ?? '',
        headers: incoming.headers,
        body,
        text: bytes.toString(),
      }
      upstream.asked.push(asked)
      const answer = upstream.script.shift() ?? upstream.reply
      const refusal = refusalAt(upstream.url, upstream.vendor, asked)
      await (refusal === undefined ? answer : json(refusal.status, refusal.body))(outgoing, asked)
    } catch {
      // The gateway left in the middle of its request, so no reader is left for an answer.
      outgoing.destroy()
    }
  }
  server.listen(port, host)
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  upstream.url = `http://${host}:${(server.address() as AddressInfo).port}`
  return upstream
}

/** The texts of a form. */
async function textsOf(bytes: Buffer<ArrayBuffer>, type: string): Promise<Fields> {
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  return Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'))
}

/** An address that refuses connections: its listener is gone. */
export async function refusingUrl(): Promise<string> {
  const upstream = await startUpstream()
  await upstream.close()
  return upstream.url
}

export const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

export function whole(content = 'hello', usage: Fields | null = USAGE): Reply {
  const message = { role: 'assistant', content }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const answer = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'served' }
  return json(200, { ...answer, choices, ...(usage !== null && { usage }) })
}

export function failing(status: number, error: Fields = {}, headers: Fields = {}): Reply {
  return json(status, { error: { message: `Said ${status}.`, ...error } }, headers)
}

export function json(status: number, body: unknown, headers: Fields = {}): Reply {
  return (outgoing) => {
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers } as never)
    outgoing.end(JSON.stringify(body))
  }
}

export const silent: Reply = () => {}

/** Answers like another reply, after an event. */
export function after(moment: Promise<unknown>, reply: Reply): Reply {
  return async (outgoing, asked) => {
    await moment
    await reply(outgoing, asked)
  }
}

export interface StreamOptions {
  readonly words?: readonly string[]
  /** Events, unchanged, before the first word. */
  readonly before?: string
  /** The second word waits for it. */
  readonly hold?: Promise<unknown>
  /** Sent after the words if it was requested. */
  readonly usage?: Fields
  readonly finish?: boolean
  readonly done?: boolean
  /** `cut` closes without the end of the chunked body; `error` sends an error event. */
  readonly end?: 'end' | 'cut' | 'error'
}

export function streaming(options: StreamOptions = {}): Reply {
  const { words = ['hel', 'lo'], before, hold, usage = USAGE, end = 'end' } = options
  return async (outgoing, { body }) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    if (before !== undefined) outgoing.write(before)
    for (const [index, content] of words.entries()) {
      if (index === 1) await hold
      outgoing.write(chunk({ delta: { content }, finish_reason: null }))
    }
    if (end === 'cut') {
      // Node keeps chunks back until the next tick.
      await new Promise(setImmediate)
      outgoing.socket?.destroySoon()
      return
    }
    if (end === 'error') outgoing.write(event({ error: { message: 'Broken.', code: 500 } }))
    if (options.finish !== false) outgoing.write(chunk({ delta: {}, finish_reason: 'stop' }))
    if ((body.stream_options as Fields | undefined)?.include_usage === true)
      outgoing.write(event({ object: 'chat.completion.chunk', choices: [], usage }))
    if (options.done !== false) outgoing.write('data: [DONE]\n\n')
    outgoing.end()
  }
}

function chunk(choice: Fields): string {
  return event({ object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], usage: null })
}

export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** The result of one request to the gateway. */
export interface Asking {
  /** Rejects when no answer comes at all. */
  readonly head: Promise<IncomingMessage>
  readonly over: Promise<Heard>
  text(): string
  leave(): void
}

export interface Heard {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Without a proper end. */
  readonly cut: boolean
}

export const QUESTION = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] }

/** A chat completion, on a separate connection; members have valid defaults. */
export function askFor(
  origin: string,
  key: string,
  fields: Fields = {},
  more: Record<string, string> = {},
): Asking {
  const outgoing = request(`${origin}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
  })
  let text = ''
  const head = once(outgoing, 'response').then(([incoming]) => incoming as IncomingMessage)
  const over = head.then(async (incoming) => {
    incoming.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    // A cut answer is an error for Node, and its close comes in every case.
    incoming.on('error', () => {})
    await new Promise((resolve) => incoming.on('close', resolve))
    const { statusCode: status = 0, headers } = incoming
    return { status, headers, text, cut: !incoming.complete }
  })
  // A caller that does not need the end need not wait for it.
  over.catch(() => {})
  outgoing.end(JSON.stringify({ ...QUESTION, ...fields }))
  return { head, over, text: () => text, leave: () => void outgoing.destroy() }
}

/** A gateway with one key, and short ways to call it and to read its state. */
export class Front {
  readonly process: GatewayProcess
  readonly key: string

  constructor(process: GatewayProcess, key: string) {
    this.process = process
    this.key = key
  }

  ask(fields: Fields = {}, headers: Record<string, string> = {}): Asking {
    return askFor(this.process.url, this.key, fields, headers)
  }

  async chat(fields: Fields = {}): Promise<Heard> {
    return await this.ask(fields).over
  }

  async stream(fields: Fields = {}): Promise<Heard> {
    return await this.ask({ ...fields, stream: true }).over
  }

  async admin(path: string) {
    const { adminUrl, adminHeaders } = this.process
    return JSON.parse(await textOf(adminUrl + path, adminHeaders))
  }

  async trace({ headers }: Heard) {
    return await this.admin(`/traces/${headers['x-request-id']}`)
  }

  /** The present value of each of our series, by name and labels. */
  async series(): Promise<ReadonlyMap<string, number>> {
    const lines = (await textOf(`${this.process.metricsUrl}/metrics`)).split('\n')
    const ours = lines.filter((line) => line.startsWith('gw_'))
    return new Map(ours.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]))
  }

  async value(name: string): Promise<number> {
    return (await this.series()).get(name) ?? 0
  }

  logged(name: string): Fields[] {
    const lines = this.process.output().split('\n')
    return lines
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line))
  }
}

/** `gw` is the configuration below that member; upstreams may omit common members. */
export async function startFront(
  gw: Fields & { readonly upstreams: readonly Fields[] },
  options: Omit<GatewayOptions, 'config'> = {},
): Promise<Front> {
  const { key, record } = aKey({ id: 'client' })
  const env = { UPSTREAM_KEY: 'upstream-credential', ...options.env }
  const config = aDocument({ api_keys: [record], ...gw, upstreams: gw.upstreams.map(anUpstream) })
  return new Front(await startGateway({ ...options, env, config }), key)
}

export function aDocument(gw: Fields) {
  return { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw }
}

/**
 * A hosted one, so that the gateway does not probe it, with only chat completions; its breaker stays closed, because
 * tests let upstreams fail.
 */
export function anUpstream(fields: Fields): Fields {
  const { provider = 'openai', endpoint } = fields as { provider?: string; endpoint?: string }
  if (endpoint !== undefined) configuredAt(endpoint, provider)
  return {
    provider: 'openai',
    native: [],
    model: 'served',
    api_key: '${env:UPSTREAM_KEY}',
    circuit_breaker: { failure_threshold: 1000 },
    ...fields,
  }
}

/** The contents of the events of a stream; `[DONE]` stays unchanged. */
export function eventsOf({ text }: { readonly text: string }) {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => (line === 'data: [DONE]' ? '[DONE]' : JSON.parse(line.slice(6))))
}

export function wordsOf(heard: { readonly text: string }): string {
  const words = eventsOf(heard).map((event) => event.choices?.[0]?.delta?.content ?? '')
  return words.join('')
}

export function errorOf({ text }: { readonly text: string }) {
  return JSON.parse(text).error
}

export const textOf = async (address: string, headers: Readonly<Record<string, string>> = {}) =>
  await (await fetch(address, { headers })).text()
