/** A gateway in front of a fake upstream, and well-formed requests to it as bytes. */
import assert from 'node:assert/strict'
import { aKey } from '../../helpers/a-key.ts'
import { type GatewayProcess, startGateway } from '../../helpers/gateway-process.ts'
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts'
import { RawSocket } from './raw-socket.ts'

export interface Front {
  readonly gateway: GatewayProcess
  readonly upstream: FakeUpstream
  readonly key: string
  stop(): Promise<void>
}

export interface FrontOptions {
  /** Fields of `gw.gateway`. */
  readonly gateway?: Readonly<Record<string, unknown>>
  /** Fields of the upstream. */
  readonly upstream?: Readonly<Record<string, unknown>>
  /** Further sections of `gw`. */
  readonly sections?: Readonly<Record<string, unknown>>
  readonly credential?: string
  readonly env?: Readonly<Record<string, string>>
}

export async function startFront(options: FrontOptions = {}): Promise<Front> {
  const upstream = await startFakeUpstream()
  const { key, record } = aKey({ id: 'client' })
  assert.equal(key.length, KEY.length)
  const gateway = await startGateway({
    env: { FRONT_CREDENTIAL: options.credential ?? 'upstream-credential', ...options.env },
    config: {
      apiVersion: 'inference.gw/v1',
      kind: 'GatewayConfig',
      gw: {
        gateway: options.gateway ?? {},
        upstreams: [
          {
            name: 'fake',
            provider: 'openai',
            endpoint: upstream.url,
            model: 'served',
            api_key: '${env:FRONT_CREDENTIAL}',
            // The suite makes upstreams fail on purpose; an open breaker would hide later results.
            circuit_breaker: { failure_threshold: 1000 },
            ...options.upstream,
          },
        ],
        routes: [{ name: 'chat', strategy: 'single', primary: 'fake' }],
        api_keys: [record],
        ...options.sections,
      },
    },
  })
  return {
    gateway,
    upstream,
    key,
    stop: async () => {
      await gateway.stop()
      await upstream.close()
    },
  }
}

/** Placeholder of the same length for the key, in bytes that are written before the key exists. */
export const KEY = '<key>'.padEnd(58, '=')

export const CHAT_LINE = 'POST /v1/chat/completions HTTP/1.1'
export const CHAT_BODY = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}'
export const CHAT_HEADERS = [
  'Host: gateway.test',
  `Authorization: Bearer ${KEY}`,
  'Content-Type: application/json',
]

export interface Parts {
  readonly line?: string
  /** Added after the required headers. */
  readonly more?: readonly string[]
  /** Instead of those. */
  readonly headers?: readonly string[]
  readonly body?: string
}

/** A chat request as bytes; omitted parts are correct. */
export function chatBytes(parts: Parts = {}): string {
  const { line = CHAT_LINE, body = CHAT_BODY, more = [] } = parts
  const headers = parts.headers ?? [...CHAT_HEADERS, `Content-Length: ${Buffer.byteLength(body)}`]
  return `${[line, ...headers, ...more].join('\r\n')}\r\n\r\n${body}`
}

/** A chat request whose framing headers the caller sets. */
export function framedBytes(framing: readonly string[], body: string, line = CHAT_LINE): string {
  return chatBytes({ line, headers: [...CHAT_HEADERS, ...framing], body })
}

export function chunk(text: string, extension = ''): string {
  return `${text.length.toString(16)}${extension}\r\n${text}\r\n`
}

export function open(front: Front, bytes?: string): RawSocket {
  const socket = new RawSocket(front.gateway.url)
  if (bytes !== undefined) socket.send(withKey(front, bytes))
  return socket
}

export function withKey(front: Front, bytes: string): string {
  return bytes.replaceAll(KEY, front.key)
}
