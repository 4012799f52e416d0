/**
 * Time bounds on a shared machine: a slow machine can make a kept bound look broken, but never the
 * reverse.
 */

const TRIES = 3

/**
 * The first of a few tries that keeps its bounds, or the last. Any error of a try fails the test.
 */
export async function bestTry<T>(
  attempt: () => Promise<T>,
  isKept: (measured: T) => boolean,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const measured = await attempt()
    if (isKept(measured) || tries === TRIES) return measured
  }
}

/**
 * With GW_LONG=1 outages last six seconds: promises about recovery apply to outages of five seconds
 * or more.
 */
export function atLength(short: number, long: number): number {
  return process.env.GW_LONG ? long : short
}
