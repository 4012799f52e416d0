/** A tunnel through an HTTP proxy to an upstream (RFC 9110, 9.3.6). */
import type { Socket } from 'node:net'
import type { AnswerHead } from './http1/answer-head.ts'
import { AnswerReader } from './http1/answer-reader.ts'
import { malformed, refusedByProxy, WireError } from './http1/wire-error.ts'

export interface TunnelOptions {
  /** Host and port of the upstream. */
  readonly authority: string
  /** The credential for the proxy. */
  readonly authorization: string | undefined
  /** How long the proxy may take to answer. */
  readonly timeoutMs: number
}

/** `socket` is a fresh connection to the proxy. Calls back once: without an error, the socket leads to the upstream. */
export function openTunnel(
  socket: Socket,
  { authority, authorization, timeoutMs }: TunnelOptions,
  callback: (error: Error | null) => void,
): void {
  const answer = { stopped: false, onHead, onData() {} }
  const reader = new AnswerReader(answer)
  const timer = setTimeout(() => fail(late()), timeoutMs)
  const credential = authorization === undefined ? '' : `proxy-authorization: ${authorization}\r\n`
  socket.on('data', onData).on('end', onEnd).on('error', fail).on('close', onEnd)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credential}\r\n`, 'latin1')

  function onHead({ status }: AnswerHead): void {
    if (status >= 300) throw refusedByProxy(status)
    answer.stopped = status >= 200
  }
  function onData(chunk: Buffer): void {
    try {
      const end = reader.read(chunk, 0)
      if (!answer.stopped) return
      if (end < chunk.length)
        throw malformed('The proxy sent bytes ahead of those of the upstream.')
      socket.pause()
      finish(null)
    } catch (error) {
      // The reader throws only errors.
      fail(error as Error)
    }
  }
  function onEnd(): void {
    fail(new WireError('UND_ERR_PRX_CONN', 'The proxy closed the connection.'))
  }
  function fail(error: Error): void {
    finish(error)
    socket.destroy()
  }
  /** The listener for errors stays: an error without one would end the process. */
  function finish(error: Error | null): void {
    clearTimeout(timer)
    socket.off('data', onData).off('end', onEnd).off('close', onEnd)
    const call = callback
    callback = done
    call(error)
  }
}

function done(): void {}

function late(): WireError {
  return new WireError('UND_ERR_HEADERS_TIMEOUT', 'The proxy did not answer in time.')
}
