/** Reads the request: first the head, then the bytes of the body within their bounds. */

import type { Rules } from '../../accounts/store.ts'
import { GatewayError } from '../../base/errors.ts'
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import type { HeldBody } from '../../body/bodies.ts'
import { BodyReader, tooLarge } from '../../body/reader.ts'
import type { Call, Incoming } from '../../call/call.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { crowdedOut, noRoom } from '../../limits/refusal.ts'
import type { Section } from '../../schema/index.ts'

/** Longest time for receiving a body, which also ends with the timeout of the request. */
const BODY_MS_MAX = 60_000

/** The part of a call that reading its body needs. */
export interface Arriving extends Pick<Call, 'receivedAt'> {
  readonly incoming: Pick<Incoming, 'header' | 'takeWhole' | 'takeBody' | 'askForBody'>
}

/** The part of the gateway that reads bodies. */
export type Receiver = Pick<Gateway, 'deadlines'>

/** The bounds of a body: settings of the process, and a limit of the tenant. */
export interface BodyBounds {
  readonly settings: Pick<Section['gateway'], 'max_request_bytes' | 'request_timeout_seconds'>
  readonly rules: Pick<Rules, 'concurrentRequests'>
  /** Reads the first bytes of a body that arrives slowly. */
  readonly look?: ((beginning: Buffer) => void) | undefined
}

/** Throws 413 and 415, the refusals that need no byte of the body. */
export function judgeHead(
  incoming: Pick<Incoming, 'header'>,
  bytesMax: number,
  isForm = false,
): void {
  if (isForm) requireForm(incoming)
  else requireJson(incoming)
  if ((announced(incoming) ?? 0) > bytesMax) throw tooLarge(bytesMax)
}

/**
 * Returns the bytes at once if they came with the head. Throws 429 and 503 before the body is read, 413 and 400 after
 * it, and ERR_GW_STREAM_ABORTED if the client leaves before its body is complete.
 */
export function receive(
  call: Arriving,
  held: HeldBody,
  bounds: BodyBounds,
  { deadlines }: Receiver,
): Buffer | Promise<Buffer> {
  const { incoming } = call
  const { max_request_bytes: bytesMax, request_timeout_seconds } = bounds.settings
  const whole = incoming.takeWhole()
  if (whole !== undefined) {
    // A body in chunks announced no length.
    if (whole.length > bytesMax) throw tooLarge(bytesMax)
    return whole
  }
  requireRoom(held, bounds)
  if (incoming.header('expect') !== undefined) incoming.askForBody()
  const reader = new BodyReader({
    expected: announced(incoming),
    bytesMax,
    held,
    deadlines,
    look: bounds.look,
    dueAt: call.receivedAt + Math.min(BODY_MS_MAX, request_timeout_seconds * 1000),
    noRoom,
  })
  incoming.takeBody(reader)
  return reader.whole
}

/** Whether the body may be larger than bodies that arrive with their head. */
export function isLong(incoming: Pick<Incoming, 'header'>): boolean {
  return (announced(incoming) ?? Number.POSITIVE_INFINITY) > LARGE_BYTES
}

function announced(incoming: Pick<Incoming, 'header'>): number | undefined {
  const length = incoming.header('content-length')
  return length === undefined ? undefined : Number(length)
}

/** An arriving body uses a slot of its tenant, like a running request. */
function requireRoom(held: HeldBody, { rules, settings }: BodyBounds): void {
  const others = held.neighbours - 1
  if (others >= rules.concurrentRequests) throw crowdedOut(others, rules)
  const obstacle = held.obstacle(settings.max_request_bytes)
  if (obstacle !== undefined) throw noRoom(obstacle)
}

function requireJson(incoming: Pick<Incoming, 'header'>): void {
  const type = incoming.header('content-type') ?? ''
  const encoding = incoming.header('content-encoding') ?? 'identity'
  if (type === 'application/json' && encoding === 'identity') return
  const [essence, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase())
  const plain = parameters.every((parameter) => /^(charset="?utf-8"?)?$/.test(parameter))
  if (essence !== 'application/json' || !plain) {
    throw new GatewayError(
      'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
      'Send the body as "Content-Type: application/json" in UTF-8.',
    )
  }
  requireIdentity(encoding)
}

function requireForm(incoming: Pick<Incoming, 'header'>): void {
  const type = incoming.header('content-type') ?? ''
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== 'multipart/form-data')
    throw new GatewayError(
      'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
      'Send the body as "Content-Type: multipart/form-data".',
    )
  requireIdentity(incoming.header('content-encoding') ?? 'identity')
}

function requireIdentity(encoding: string): void {
  if (encoding === 'identity') return
  throw new GatewayError(
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
    'Send the body uncompressed, without Content-Encoding.',
  )
}
