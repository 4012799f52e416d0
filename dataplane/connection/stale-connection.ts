/** Tells a kept connection that its upstream closed while it was idle from one that broke over a request. */

const STALE = Symbol('stale')

interface Staleable extends Error {
  [STALE]?: true
}

/** The connection had answered before, and nothing of an answer to this request has come. */
export function markStale(error: Staleable): void {
  error[STALE] = true
}

export function isStale(error: Error): boolean {
  return (error as Staleable)[STALE] === true
}
