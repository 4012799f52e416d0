/**
 * Loaded before a program (`node --import`): its monotonic clock takes GW_CLOCK_SLOWER times as long. A program of a
 * test has the same timeouts, and a busy machine does not let them end.
 */
const factor = Number(process.env.GW_CLOCK_SLOWER ?? 1)
const real = performance.now.bind(performance)
const began = real()
performance.now = () => began + (real() - began) / factor

/** The environment of a program with such a clock. */
export function slowClock(times: number): Readonly<Record<string, string>> {
  return { GW_CLOCK_SLOWER: String(times), NODE_OPTIONS: `--import=${import.meta.url}` }
}
