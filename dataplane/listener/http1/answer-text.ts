/** The text of an answer's head, in the form of Node's server. */
import { STATUS_CODES } from '../../base/node-http.ts'
import { HEADER_VALUE } from '../../http1/header-lines.ts'

/** Header lines that all answers of one second share. */
export class CommonLines {
  #keepAliveMs = -1
  #second = -1
  #date = ''
  #kept = ''

  /** The last lines before the empty one, of a connection that is kept or closed. */
  at(wallMs: number, keepAliveMs: number, isLast: boolean): string {
    const second = Math.floor(wallMs / 1000)
    if (second !== this.#second || keepAliveMs !== this.#keepAliveMs) {
      this.#second = second
      this.#keepAliveMs = keepAliveMs
      this.#date = `Date: ${new Date(wallMs).toUTCString()}\r\n`
      this.#kept = `${this.#date}Connection: keep-alive\r\n`
      if (keepAliveMs > 0) {
        this.#kept += `Keep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`
      }
    }
    return isLast ? this.#date : this.#kept
  }
}

const statusLines = new Map<number, string>()

export function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    statusLines.set(status, line)
  }
  return line
}

/** The gateway chooses the names; a value that could be read as another line throws. */
export function headerLines(headers: readonly string[]): string {
  let lines = ''
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] ?? ''
    if (!HEADER_VALUE.test(value))
      throw new TypeError(`The header ${headers[index]} would end its line.`)
    lines += `${headers[index]}: ${value}\r\n`
  }
  return lines
}

/** Whether the headers say that this answer is the connection's last. */
export function saysClose(headers: readonly string[]): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === 'connection') return true
  }
  return false
}
