/** Refusals of the HTTP parser: one answer in bytes, after which the connection is closed. */
import { envelope } from '../apis/openai/wire.ts'
import { GatewayError } from '../base/errors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { HandedOver } from './handed-over.ts'
import { headerLines, statusLine } from './http1/answer-text.ts'

export const HEADER_BYTES_MAX = 16_384

/** For bytes that never became a request; the stage that reads a body refuses one that breaks off. */
export function refuseRaw(
  error: Error & { code?: string },
  connection: HandedOver,
  gateway: Gateway,
): void {
  if (connection.isLast) return
  const refusal = rawRefusal(error.code)
  const answering = connection.answering.at(-1)
  if (answering !== undefined) {
    answering.breakOff(refusal)
    return
  }
  if (!connection.writable) {
    connection.destroy()
    return
  }
  connection.isLast = true
  if (!connection.isBehind) connection.write(answerTo(refusal, gateway))
  // A client that sends too slowly is disconnected.
  if (refusal.code === 'ERR_GW_REQUEST_TIMEOUT') connection.end(() => connection.destroy())
  else connection.destroySoon()
}

/** The whole answer; it counts as given. */
export function answerTo(refusal: GatewayError, gateway: Gateway): string {
  const id = gateway.newRequestId()
  const body = envelope(refusal, id)
  gateway.metrics.refused.at(refusal.code).value++
  const headers = ['content-type', 'application/json; charset=utf-8', ...unrouted(id)]
  if (refusal.final) headers.push('x-should-retry', 'false')
  headers.push('content-length', String(Buffer.byteLength(body)), 'connection', 'close')
  return `${statusLine(refusal.status)}${headerLines(headers)}\r\n${body}`
}

/** The headers of every answer, for an answer without a route. */
export function unrouted(requestId: string): string[] {
  return ['x-request-id', requestId, 'x-gw-route', 'none', 'x-gw-upstream', 'none']
}

/** `code`: why Node's parser gave up. */
export function rawRefusal(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GatewayError(
      'ERR_GW_HEADERS_TOO_LARGE',
      `Send at most ${HEADER_BYTES_MAX} bytes of headers.`,
    )
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return lateRefusal()
  return new GatewayError('ERR_GW_INVALID_REQUEST', 'The request is not valid HTTP/1.1.')
}

export function lateRefusal(): GatewayError {
  return new GatewayError('ERR_GW_REQUEST_TIMEOUT', 'The request was not received in time.')
}
