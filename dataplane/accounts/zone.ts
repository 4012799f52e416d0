/** Times of a place by its IANA time zone, and back. */

const DAY_MS = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** The time that clocks of the place show, in milliseconds as if it were UTC. */
export function localTime(wallMs: number, timeZone: string | undefined): number {
  if (timeZone === undefined) return wallMs
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(wallMs)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  const [year, month, day] = [part('year'), part('month'), part('day')]
  const whole = Date.UTC(year, month - 1, day, part('hour'), part('minute'), part('second'))
  return whole + (((wallMs % 1000) + 1000) % 1000)
}

/**
 * The moment at which clocks of the place show a time; the one with the offset of `nearMs`, if there are two. A time that clocks
 * leave out is the moment at which they jump over it.
 */
export function utcOf(localMs: number, timeZone: string | undefined, nearMs: number): number {
  if (timeZone === undefined) return localMs
  const offset = (wallMs: number) => localTime(wallMs, timeZone) - wallMs
  const near = localMs - offset(nearMs)
  if (offset(near) === offset(nearMs)) return near
  const other = localMs - offset(near)
  return offset(other) === offset(near) ? other : Math.max(near, other)
}

/** The same; the earlier one, if there are two. */
export function firstUtcOf(localMs: number, timeZone: string | undefined): number {
  // No offset is as much as a day, so these moments are before and after any change of clocks there.
  return Math.min(
    utcOf(localMs, timeZone, localMs - DAY_MS),
    utcOf(localMs, timeZone, localMs + DAY_MS),
  )
}

export function isTimeZone(name: string): boolean {
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formats.set(timeZone, format)
  }
  return format
}
