/** Sends raw bytes to the gateway over a bare socket, as no HTTP client would. */
import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Long enough for a slow machine. */
const SECONDS_MAX = 60

export interface RawAnswer {
  readonly status: number
  /** Lower-case names; the last value of a repeated header. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class RawSocket {
  /** 'reset' if the end was an error and not a proper close. */
  end: 'closed' | 'reset' | undefined
  readonly #socket: Socket
  readonly #changes = new EventEmitter()
  #heard = ''

  constructor(url: string) {
    const { hostname, port } = new URL(url)
    // Half open, to receive answers after our end.
    this.#socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => {
      this.#heard += chunk.toString('latin1')
      this.#changes.emit('change')
    })
    this.#socket.on('error', () => this.#over('reset'))
    this.#socket.on('end', () => this.#socket.end())
    this.#socket.on('close', () => this.#over('closed'))
  }

  /** Strings are bytes, one for each character. */
  send(bytes: string | Buffer): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Whether all sent bytes have left this process. */
  get drained(): boolean {
    return this.#socket.writableLength === 0
  }

  /** Ends the sending side and keeps reading. */
  sendEnd(): void {
    this.#socket.end()
  }

  /** Stops reading. */
  stall(): void {
    this.#socket.pause()
  }

  /** Closes the connection without sending more. */
  leave(): void {
    this.#socket.destroy()
  }

  /** Resets the connection, as a crashed client does. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  get heard(): string {
    return this.#heard
  }

  /** Complete answers so far. */
  get answers(): readonly RawAnswer[] {
    return parseAnswers(this.#heard).answers
  }

  /** Bytes that are not part of a complete answer. */
  get remainder(): string {
    return parseAnswers(this.#heard).remainder
  }

  /**
   * Whether the condition becomes true within the time; it is checked after each received byte, so
   * it may depend only on received data.
   */
  async until(condition: () => boolean, secondsMax = SECONDS_MAX): Promise<boolean> {
    const signal = AbortSignal.timeout(secondsMax * 1000)
    while (!condition()) {
      if (signal.aborted) return false
      await once(this.#changes, 'change', { signal }).catch(() => undefined)
    }
    return true
  }

  /** Whether the gateway has closed the connection within the time. */
  closes(secondsMax = SECONDS_MAX): Promise<boolean> {
    return this.until(() => this.end !== undefined, secondsMax)
  }

  #over(how: 'closed' | 'reset'): void {
    this.end ??= how
    this.#changes.emit('change')
  }
}

const HEAD = /^HTTP\/1\.1 (\d{3})[^\r\n]*\r\n/

function parseAnswers(heard: string): { answers: RawAnswer[]; remainder: string } {
  const answers: RawAnswer[] = []
  let remainder = heard
  for (;;) {
    const headEnd = remainder.indexOf('\r\n\r\n')
    const status = Number(HEAD.exec(remainder)?.[1])
    if (headEnd === -1 || Number.isNaN(status)) return { answers, remainder }
    const headers = parseHeaders(remainder.slice(0, headEnd))
    const body = takeBody(remainder.slice(headEnd + 4), status, headers)
    if (body === undefined) return { answers, remainder }
    answers.push({ status, headers, body: body.text })
    remainder = body.behind
  }
}

function parseHeaders(head: string): Record<string, string> {
  const lines = head.split('\r\n').slice(1)
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}

function takeBody(text: string, status: number, headers: Readonly<Record<string, string>>) {
  if (status < 200 || status === 204) return { text: '', behind: text }
  if (headers['transfer-encoding'] === 'chunked') return takeChunks(text)
  const length = Number(headers['content-length'])
  if (Number.isNaN(length) || text.length < length) return undefined
  return { text: text.slice(0, length), behind: text.slice(length) }
}

function takeChunks(text: string): { text: string; behind: string } | undefined {
  let body = ''
  let at = 0
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    const start = lineEnd + 2
    if (text.length < start + size + 2) return undefined
    body += text.slice(start, start + size)
    at = start + size + 2
    if (size === 0) return { text: body, behind: text.slice(at) }
  }
}
