/** The age of clients' connections: old ones are closed behind an answer, so that new replicas get their share. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'

const ENDS_AT = Symbol('connection ends at')

type Aging = Socket & { [ENDS_AT]?: number }

/** Connections of one moment must not all return in one moment: up to a fifth more or less. */
const SPREAD = 0.4

/** A connection that nobody uses is left alone: closing it could meet a request on its way. */
export function limitAge(
  server: Server,
  ageMs: number,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
): void {
  server.on('connection', (socket: Aging) => {
    socket[ENDS_AT] = clock.now() + ageMs * (1 + SPREAD * (random() - 0.5))
  })
}

export function isAged(socket: Aging, now: number): boolean {
  const endsAt = socket[ENDS_AT]
  return endsAt !== undefined && now >= endsAt
}
