/** The hours of UTC, in which usage is counted, in the time of a zone. */

export const UTC = 'UTC'
const HOUR_MS = 3_600_000
/** Offsets from UTC go from -12 to +14 hours. */
const OFFSET_HOURS_MAX = 15

export class Zone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat | undefined
  /** Hours that were requested. */
  readonly #local = new Map<string, string>()

  /** Throws a RangeError for an unknown zone. */
  constructor(name: string) {
    this.name = name
    if (name === UTC) return
    this.#format = new Intl.DateTimeFormat('en-CA', {
      ...{ timeZone: name, hourCycle: 'h23', timeZoneName: 'longOffset' },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
    })
  }

  /** `2026-11-22T09+01:00` for 2026-11-22T08; in UTC the hour itself. */
  localOf(hour: string): string {
    const known = this.#local.get(hour)
    if (known !== undefined) return known
    const local = this.#format === undefined ? hour : shown(this.#format, hour)
    this.#local.set(hour, local)
    return local
  }

  /** Whether the zone always has an offset of whole hours from UTC, so that no hour has parts of two days. */
  isWhole(from: string, to: string): boolean {
    if (this.#format === undefined) return true
    const end = Date.parse(`${to}:00Z`)
    // Clocks are changed at most twice a year, and never for less than a day.
    for (let at = Date.parse(`${from}:00Z`); at <= end; at += 24 * HOUR_MS)
      if (!this.localOf(hourOf(at)).endsWith(':00')) return false
    return true
  }

  /** The hours of UTC in a month, day or hour there: 2026-11, 2026-11-22 or 2026-11-22T09. Undefined if there are none. */
  hoursOf(name: string): { readonly first: string; readonly last: string } | undefined {
    const start = Date.parse(`${`${name}-01`.slice(0, 10)}T00:00Z`)
    if (Number.isNaN(start)) return undefined
    const length = name.length === 7 ? 31 * 24 : 24
    let first: string | undefined
    let last = ''
    for (let at = -OFFSET_HOURS_MAX; at < length + OFFSET_HOURS_MAX; at++) {
      const hour = hourOf(start + at * HOUR_MS)
      if (!this.localOf(hour).startsWith(name)) continue
      first ??= hour
      last = hour
    }
    return first === undefined ? undefined : { first, last }
  }
}

function shown(format: Intl.DateTimeFormat, hour: string): string {
  const parts = format.formatToParts(Date.parse(`${hour}:00Z`))
  const {
    year,
    month,
    day,
    hour: clock,
    timeZoneName = '',
  } = Object.fromEntries(parts.map(({ type, value }) => [type, value]))
  return `${year}-${month}-${day}T${clock}${timeZoneName.slice(3) || '+00:00'}`
}

export function hourOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 13)
}
