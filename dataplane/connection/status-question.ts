/** The status of one GET, on a separate connection, because probes are too rare for a kept one. */
import type { Socket } from 'node:net'
import type { Transport } from './client.ts'
import type { AnswerHead } from './http1/answer-head.ts'
import { AnswerReader, type AnswerSink } from './http1/answer-reader.ts'
import { PATH } from './http1/request-head.ts'
import { cut, refusedByProxy, tooLong, WireError } from './http1/wire-error.ts'

const BODY_BYTES_MAX = 65_536
const PROXY_AUTHENTICATION = 407

/**
 * Resolves with the status after the head of the answer, and reads the rest. A probe over a pool of undici takes 580 µs of the
 * processor, and this one takes 220 µs: test/bench/micro/probe.ts.
 */
export function askStatus(transport: Transport, path: string, timeoutMs: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  new StatusQuestion(transport, resolve, reject).ask(path, timeoutMs)
  return promise
}

class StatusQuestion implements AnswerSink {
  readonly #transport: Transport
  readonly #resolve: (status: number) => void
  readonly #reject: (error: Error) => void
  readonly #reader = new AnswerReader(this)
  #socket: Socket | undefined
  #timer: NodeJS.Timeout | undefined
  #bytes = 0
  #isOver = false

  constructor(
    transport: Transport,
    resolve: (status: number) => void,
    reject: (error: Error) => void,
  ) {
    this.#transport = transport
    this.#resolve = resolve
    this.#reject = reject
  }

  ask(path: string, timeoutMs: number): void {
    if (!PATH.test(path)) {
      this.#end(new WireError('UND_ERR_INVALID_ARG', 'invalid request path'))
      return
    }
    const late = () => this.#end(new WireError('UND_ERR_HEADERS_TIMEOUT', 'no answer in time'))
    this.#timer = setTimeout(late, timeoutMs).unref()
    this.#transport.connect((error, socket) => {
      if (socket === null) this.#end(error ?? cut())
      else if (this.#isOver) socket.destroy()
      else this.#write(socket, path)
    })
  }

  get stopped(): boolean {
    return this.#isOver
  }

  onHead({ status }: AnswerHead): void {
    if (status < 200) return
    const isOfProxy = this.#transport.proxy !== undefined && status === PROXY_AUTHENTICATION
    if (isOfProxy) this.#end(refusedByProxy(status))
    else this.#resolve(status)
  }

  onData(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes > BODY_BYTES_MAX) this.#end(tooLong('the body of a probe is too long'))
  }

  #write(socket: Socket, path: string): void {
    const { url, proxy } = this.#transport
    this.#socket = socket
    socket.on('error', (error) => this.#end(error))
    socket.on('close', () => this.#end(cut()))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    const target = proxy === undefined ? path : url.origin + path
    const credential = proxy?.authorization
    socket.write(
      `GET ${target} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\naccept: */*\r\nuser-agent: gw-probe\r\n` +
        `${credential === undefined ? '' : `proxy-authorization: ${credential}\r\n`}\r\n`,
    )
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.read(chunk, 0)
    } catch (error) {
      this.#end(error instanceof Error ? error : cut())
      return
    }
    if (this.#reader.complete) this.#end(cut())
  }

  /** After the status, errors are ignored. */
  #end(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#reject(error)
    this.#socket?.destroy()
  }
}
