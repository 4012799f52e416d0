/** What is asked? The head first, then the body within its bounds, as far as it tells where the request leads. */

import { GatewayError } from '../base/errors.ts'
import type { HeldBody } from '../body/bodies.ts'
import { type Scanned, scanChat } from '../body/chat.ts'
import { BodyReader, tooLarge } from '../body/reader.ts'
import type { Caller, Incoming } from '../call.ts'
import type { Visit } from '../gateway.ts'
import { crowdedOut, noRoom } from '../limits/refusal.ts'

/** A body has so long to come, and never longer than the whole request may take. */
const BODY_MS_MAX = 60_000

/** Throws 413 and 415: what needs no byte of the body. */
export function judgeHead({ call }: Visit, bytesMax: number): void {
  const { incoming } = call
  requireJson(incoming)
  if ((announced(incoming) ?? 0) > bytesMax) throw tooLarge(bytesMax)
}

/**
 * Throws 429 and 503 before the body is read, 413 and 400 behind it; and ERR_GW_STREAM_ABORTED when the client leaves
 * before its body is complete.
 */
export function receive(
  held: HeldBody,
  caller: Caller,
  visit: Visit,
  bytesMax: number,
): Scanned | Promise<Scanned> {
  const { call, trace, gateway } = visit
  const { incoming } = call
  const whole = incoming.takeWhole()
  if (whole !== undefined) return scanChat(whole)
  requireRoom(held, caller, visit, bytesMax)
  if (incoming.headers.expect !== undefined) incoming.askForBody()
  const { clock } = gateway
  const began = clock.now()
  return readBody(held, caller, visit, bytesMax).then((bytes) => {
    trace.body_ms = clock.now() - began
    return scanChat(bytes)
  })
}

function announced({ headers }: Incoming): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** A body that is on its way has a slot of its tenant, as a request that runs has. */
function requireRoom(held: HeldBody, caller: Caller, visit: Visit, bytesMax: number): void {
  const { limits } = visit.active.snapshot
  const rules = limits.rules.of(caller.tenant)
  const others = held.neighbours - 1
  if (others >= rules.concurrentRequests) {
    visit.gateway.metrics.rejected.at(caller.tenant, 'concurrency').value++
    throw crowdedOut(others, rules, visit.gateway.clock.wall())
  }
  const obstacle = held.obstacle(bytesMax)
  if (obstacle !== undefined) throw full(obstacle, caller, visit)
}

function full(obstacle: 'process' | 'tenant', caller: Caller, { gateway }: Visit): GatewayError {
  if (obstacle === 'tenant') gateway.metrics.rejected.at(caller.tenant, 'concurrency').value++
  return noRoom(obstacle)
}

function readBody(held: HeldBody, caller: Caller, visit: Visit, bytesMax: number): Promise<Buffer> {
  const { call, gateway, active } = visit
  const totalMs = active.snapshot.section.gateway.request_timeout_seconds * 1000
  const reader = new BodyReader({
    expected: announced(call.incoming),
    bytesMax,
    held,
    deadlines: gateway.deadlines,
    dueAt: call.receivedAt + Math.min(BODY_MS_MAX, totalMs),
    noRoom: (obstacle) => full(obstacle, caller, visit),
  })
  call.incoming.takeBody(reader)
  return reader.whole
}

function requireJson({ headers }: Incoming): void {
  const type = headers['content-type'] ?? ''
  if (type === 'application/json' && headers['content-encoding'] === undefined) return
  const [essence, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase())
  const plain = parameters.every((parameter) => /^(charset="?utf-8"?)?$/.test(parameter))
  if (essence !== 'application/json' || !plain) {
    throw new GatewayError(
      'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
      'Send the body as "Content-Type: application/json" in UTF-8.',
    )
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    throw new GatewayError(
      'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
      'Send the body uncompressed, without Content-Encoding.',
    )
  }
}
