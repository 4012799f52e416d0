/** The names of pages: what of which minute or hour, and how long it is kept. */

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
/** Minutes and events for 48 hours, hours for 31 days; each with the present one. */
export const KEPT_MS = { minute: 48 * HOUR_MS, hour: 31 * 24 * HOUR_MS, events: 48 * HOUR_MS }

export type PageKind = keyof typeof KEPT_MS

export const PAGE_KINDS = ['minute', 'hour', 'events'] as const

/** `minute:2026-11-22T08:05`, `hour:2026-11-22T08` or `events:2026-11-22T08`. Names of a kind sort by time. */
export function placeOf(kind: PageKind, wallMs: number): string {
  return `${kind}:${new Date(wallMs).toISOString().slice(0, kind === 'minute' ? 16 : 13)}`
}

/** The first page that is still kept. */
export function oldestOf(kind: PageKind, wallMs: number): string {
  return placeOf(kind, wallMs - KEPT_MS[kind])
}

export function kindOf(place: string): PageKind | undefined {
  return PAGE_KINDS.find((kind) => place.startsWith(`${kind}:`))
}

/** When the minute or hour of a place began. */
export function startOf(place: string): number {
  const time = place.slice(place.indexOf(':') + 1)
  return Date.parse(time.length === 13 ? `${time}:00Z` : `${time}Z`)
}

/** Pages of a kind from one moment to another, in order. */
export function* placesBetween(kind: PageKind, from: number, until: number): Generator<string> {
  const step = kind === 'minute' ? MINUTE_MS : HOUR_MS
  for (let at = Math.floor(from / step) * step; at < until; at += step) yield placeOf(kind, at)
}
