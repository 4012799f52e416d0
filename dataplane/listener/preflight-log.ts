/** Log lines for refused preflights: the browser hides the reason from the page, so the gateway must log it. */
import type { Clock } from '../base/clock.ts'
import { shownName } from '../base/shown-text.ts'
import type { Section } from '../schema/index.ts'
import type { Log } from '../telemetry/log.ts'
import { ALLOWED_METHODS, isAllowedOrigin } from './cors.ts'

/** Any page may send preflights, so lines are bounded. */
const LINES_MAX = 10
const WINDOW_MS = 60_000

export interface PreflightParts {
  readonly requestId: string
  readonly origin: string | undefined
  /** The method that the page wants to send; absent: it is not a preflight. */
  readonly method: string | undefined
  readonly cors: Section['gateway']['cors']
}

export class PreflightLog {
  readonly #clock: Pick<Clock, 'now'>
  readonly #log: Pick<Log, 'event'>
  #windowEndsAt = Number.NEGATIVE_INFINITY
  #lines = 0
  #suppressed = 0

  constructor(clock: Pick<Clock, 'now'>, log: Pick<Log, 'event'>) {
    this.#clock = clock
    this.#log = log
  }

  /** Writes a line if the browser will not send the request. */
  note({ requestId, origin, method, cors }: PreflightParts): void {
    if (origin === undefined || method === undefined) return
    const why = refusedBecause(origin, method, cors)
    if (why === undefined || !this.#mayWrite()) return
    const suppressed = this.#suppressed
    this.#suppressed = 0
    this.#log.event('warn', 'cors_refused', `A preflight of a page was refused: ${why}.`, {
      request_id: requestId,
      origin: shownName(origin),
      method: shownName(method),
      why,
      ...(suppressed > 0 && { suppressed }),
    })
  }

  #mayWrite(): boolean {
    const now = this.#clock.now()
    if (now >= this.#windowEndsAt) {
      this.#windowEndsAt = now + WINDOW_MS
      this.#lines = 0
    }
    if (this.#lines >= LINES_MAX) {
      this.#suppressed++
      return false
    }
    this.#lines++
    return true
  }
}

function refusedBecause(
  origin: string,
  method: string,
  cors: Section['gateway']['cors'],
): string | undefined {
  if (cors.allowed_origins.length === 0) return 'gateway.cors.allowed_origins is empty'
  if (!isAllowedOrigin(origin, cors))
    return `origin "${shownName(origin)}" is not in gateway.cors.allowed_origins`
  if (ALLOWED_METHODS.includes(method)) return undefined
  return `method ${shownName(method)} is not one of ${ALLOWED_METHODS.join(', ')}`
}
