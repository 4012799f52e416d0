/** Rotates a list by a running number, so that equal entries take turns. */

/** The entries from number `turn` on, then those before it; the list itself if nothing moves. */
export function rotated<T>(entries: readonly T[], turn: number): readonly T[] {
  if (entries.length < 2) return entries
  const start = turn % entries.length
  return start === 0 ? entries : [...entries.slice(start), ...entries.slice(0, start)]
}
