/** Event streams in AWS's form, by the vendor's codec. */
import { EventStreamCodec } from '@smithy/core/event-streams'

export const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString('utf8'),
  (text) => Buffer.from(text),
)

type Texts = Readonly<Record<string, string>>

/** A frame with these headers, all of them texts. */
export function frameOf(texts: Texts, body: Uint8Array): Buffer {
  const headers = Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [name, { type: 'string', value } as const]),
  )
  return Buffer.from(codec.encode({ headers, body }))
}

export function eventFrame(type: string, content: unknown): Buffer {
  return frameOf(headersOf('event', type), payload(content))
}

export function exceptionFrame(type: string, content: unknown): Buffer {
  return frameOf(headersOf('exception', type), payload(content))
}

export function errorFrame(code: string, message: string): Buffer {
  const headers = { ':message-type': 'error', ':error-code': code, ':error-message': message }
  return frameOf(headers, new Uint8Array())
}

function headersOf(kind: 'event' | 'exception', type: string): Texts {
  return { [`:${kind}-type`]: type, ':content-type': 'application/json', ':message-type': kind }
}

function payload(content: unknown): Buffer {
  return Buffer.from(JSON.stringify(content))
}
