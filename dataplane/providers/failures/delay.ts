/**
 * How long an upstream asks the gateway to wait, from its headers, its error's details or its message.
 */

import { recordOf, textOf } from '../../json/values.ts'
import type { ErrorBody } from './bodies.ts'

/**
 * Longer delays have no additional meaning, and a hostile value must not reach later calculations.
 */
const DELAY_MS_MAX = 86_400_000
/** "Please retry after 6 seconds", "Please try again in 1m2.5s", "Please retry in 13.2s". */
const SPOKEN =
  /(?:retry|try again) (?:after|in) ((?:[0-9.]{1,12} ?(?:ms|s|m|h|seconds?|minutes?) ?){1,3})/i
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

export function retryAfterMs(
  headers: Readonly<Record<string, unknown>>,
  body: ErrorBody,
): number | undefined {
  const delay =
    positive(Number(headerText(headers, 'retry-after-ms') ?? 'none')) ??
    headerDelay(headerText(headers, 'retry-after'), headerText(headers, 'date')) ??
    detailDelay(body.details) ??
    duration(SPOKEN.exec(body.message ?? '')?.[1])
  return delay === undefined ? undefined : Math.min(Math.ceil(delay), DELAY_MS_MAX)
}

/**
 * Seconds or a date. A date is compared with the upstream's own clock, because this folder has no clock.
 */
function headerDelay(value: string | undefined, date: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!Number.isNaN(seconds)) return positive(seconds * 1000)
  return positive(Date.parse(value) - Date.parse(date ?? ''))
}

/** Gemini's RetryInfo: `{"retryDelay": "13s"}`. */
function detailDelay(details: readonly unknown[]): number | undefined {
  for (const detail of details) {
    const delay = duration(textOf(recordOf(detail).retryDelay))
    if (delay !== undefined) return delay
  }
  return undefined
}

function duration(text: string | undefined): number | undefined {
  let total = 0
  for (const [, amount, unit] of (text ?? '').matchAll(/([0-9.]{1,12}) ?(ms|[smh])/gi)) {
    total += Number(amount) * (UNIT_MS[unit?.toLowerCase() ?? ''] ?? 0)
  }
  return positive(total)
}

function headerText(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = headers[name]
  return textOf(Array.isArray(value) ? value[0] : value)
}

function positive(delay: number): number | undefined {
  return Number.isFinite(delay) && delay > 0 ? delay : undefined
}
