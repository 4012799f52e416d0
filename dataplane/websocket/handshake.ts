/** A client's handshake for a WebSocket (RFC 6455, 4). */
import { createHash } from 'node:crypto'
import { GatewayError } from '../base/errors.ts'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
export const VERSION = '13'
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/

interface Headed {
  readonly httpVersion: string
  header(name: string): string | undefined
}

/** Whether the client asks for a WebSocket, even in an invalid way. */
export function asksForSocket(incoming: Pick<Headed, 'header'>): boolean {
  return lists(incoming.header('upgrade'), 'websocket')
}

/** The rule that such a request violates. */
export function handshakeFault(incoming: Headed): GatewayError | undefined {
  if (incoming.httpVersion !== '1.1') return fault('A WebSocket needs HTTP/1.1.')
  if (!lists(incoming.header('connection'), 'upgrade'))
    return fault('A WebSocket needs the header "Connection: Upgrade".')
  const version = incoming.header('sec-websocket-version')
  if (version !== VERSION) {
    const message = `A WebSocket needs the header "Sec-WebSocket-Version: ${VERSION}".`
    return new GatewayError('ERR_GW_UPGRADE_REQUIRED', message, { upgrade: 'websocket' })
  }
  if (!KEY.test(incoming.header('sec-websocket-key') ?? ''))
    return fault('A WebSocket needs the header "Sec-WebSocket-Key", of 16 random bytes in base64.')
  return undefined
}

/** The headers of the answer that opens it, name and value alternating; without extension and subprotocol. */
export function acceptance(incoming: Pick<Headed, 'header'>): string[] {
  const key = incoming.header('sec-websocket-key') ?? ''
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64')
  return ['upgrade', 'websocket', 'connection', 'Upgrade', 'sec-websocket-accept', accept]
}

function lists(value: string | undefined, word: string): boolean {
  return value?.split(',').some((one) => one.trim().toLowerCase() === word) ?? false
}

function fault(message: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', message)
}
