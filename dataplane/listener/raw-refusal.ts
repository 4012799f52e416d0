/** What the HTTP parser refuses: answered in bytes, once, and the connection is closed. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { envelope } from '../apis/openai/wire.ts'
import { GatewayError } from '../base/errors.ts'
import type { Gateway } from '../gateway.ts'
import { answerLast, isLastAnswered } from './last-answer.ts'
import { BODY_BROKEN } from './node-exchange.ts'

export const HEADER_BYTES_MAX = 16_384

const BEHIND = Symbol('bytes behind a request')

type Connection = Socket & { [BEHIND]?: true }

/** The bytes that are read next came before the last request had its answer; what is no request in them is not refused. */
export function markBehind(socket: Connection): void {
  socket[BEHIND] = true
  setImmediate(() => {
    delete socket[BEHIND]
  })
}

/** For what never became a request; a request whose body breaks off is refused by the stage that reads it. */
export function refuseRaw(
  error: Error & { code?: string },
  socket: Connection,
  gateway: Gateway,
): void {
  if (isLastAnswered(socket)) return
  const answering = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage
  const refusal = rawRefusal(error.code)
  if (answering != null) {
    refuseDuring(answering, refusal, socket)
    return
  }
  if (!socket.writable) {
    socket.destroy()
    return
  }
  answerLast(socket)
  if (socket[BEHIND]) {
    socket.destroySoon()
    return
  }
  const id = gateway.newRequestId()
  const body = envelope(refusal, id)
  gateway.metrics.refused.at(refusal.code).value++
  socket.write(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n` +
      `content-type: application/json; charset=utf-8\r\nx-request-id: ${id}\r\n` +
      `x-gw-route: none\r\nx-gw-upstream: none\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // A client that sends too slowly is cut.
  if (refusal.code === 'ERR_GW_REQUEST_TIMEOUT') socket.end(() => socket.destroy())
  else socket.destroySoon()
}

/** The parser gave up while a request of the connection is being answered. */
function refuseDuring(answering: ServerResponse, refusal: GatewayError, socket: Socket): void {
  if (!answering.req.complete) {
    // A body that breaks off is refused by the stage that reads it, with everything an answer carries; if none
    // reads it, the answer did not need it and is on its way.
    if (!answering.headersSent) answering.req.emit(BODY_BROKEN, refusal)
    else if (!answering.writableEnded) socket.destroy()
    return
  }
  // Garbage behind a request is not its fault: it has its answer, which is the last one.
  answerLast(socket)
  answering.on('finish', () => socket.destroySoon())
}

export function rawRefusal(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GatewayError(
      'ERR_GW_HEADERS_TOO_LARGE',
      `Send at most ${HEADER_BYTES_MAX} bytes of headers.`,
    )
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('ERR_GW_REQUEST_TIMEOUT', 'The request was not received in time.')
  }
  return new GatewayError('ERR_GW_INVALID_REQUEST', 'The request is not valid HTTP/1.1.')
}
