/** Distinguishes a kept connection that the upstream closed while idle from one that broke during a request. */

const STALE = Symbol('stale')

interface Staleable extends Error {
  [STALE]?: true
}

/** Marks the error if the connection has answered before and no byte of this answer has come. */
export function markStale(error: Staleable): void {
  error[STALE] = true
}

export function isStale(error: Error): boolean {
  return (error as Staleable)[STALE] === true
}
