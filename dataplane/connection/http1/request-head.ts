/** Writes the head of a request. The lines that do not change between requests are written once. */
import { HEADER_NAME, HEADER_VALUE } from '../../http1/header-lines.ts'
import type { PoolRequest } from './contract.ts'
import { WireError } from './wire-error.ts'

export const PATH = /^\/[!-~\x80-\xff]*$/

/** Headers that the connection writes itself. */
const FRAMING = new Set([
  'content-length',
  'expect',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const CONNECTION = /^(?:keep-alive|close)$/i

const NONE: readonly string[] = []

/** A proxy that forwards each request, and so needs its whole URL. */
export interface Forwarding {
  /** The credential for the proxy. */
  readonly authorization: string | undefined
}

export class RequestHead {
  readonly #host: string
  readonly #proxy: Forwarding | undefined
  #path: string | undefined
  #headers: readonly string[] | undefined
  #written = ''

  constructor(host: string, proxy?: Forwarding) {
    this.#host = host
    this.#proxy = proxy
  }

  /** Throws if a header or the path contains characters that would change the meaning. */
  of({ path, headers, requestId, ownHeaders = NONE, body, rest }: PoolRequest): string {
    if (headers !== this.#headers || path !== this.#path) {
      this.#written = this.#write(path, headers)
      this.#path = path
      this.#headers = headers
    }
    if (!HEADER_VALUE.test(requestId)) throw invalid('x-request-id')
    let own = ''
    for (let index = 0; index < ownHeaders.length; index += 2) {
      const name = ownHeaders[index] ?? ''
      const value = ownHeaders[index + 1] ?? ''
      if (!HEADER_NAME.test(name) || FRAMING.has(name) || !HEADER_VALUE.test(value))
        throw invalid(name)
      own += `${name}: ${value}\r\n`
    }
    let length = body.length
    if (rest !== undefined) for (const one of rest) length += one.length
    return `${this.#written}${own}x-request-id: ${requestId}\r\ncontent-length: ${length}\r\n\r\n`
  }

  #write(path: string, headers: readonly string[]): string {
    if (!PATH.test(path)) throw new WireError('UND_ERR_INVALID_ARG', 'invalid request path')
    let host = this.#host
    let connection = 'keep-alive'
    let lines = ''
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      const lowered = name.toLowerCase()
      if (!HEADER_NAME.test(name) || FRAMING.has(lowered) || !HEADER_VALUE.test(value))
        throw invalid(name)
      if (lowered === 'connection' && !CONNECTION.test(value)) throw invalid(name)
      if (lowered === 'host') host = value
      else if (lowered === 'connection') connection = value
      else lines += `${name}: ${value}\r\n`
    }
    const target = this.#proxy === undefined ? path : `http://${this.#host}${path}`
    const credential = this.#proxy?.authorization
    if (credential !== undefined) lines += `proxy-authorization: ${credential}\r\n`
    return `POST ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n${lines}`
  }
}

function invalid(name: string): WireError {
  return new WireError('UND_ERR_INVALID_ARG', `invalid ${name} header`)
}
