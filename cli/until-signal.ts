/** Commands that run until Ctrl-C. */
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

/** Repeats the work until a signal arrives, and then exits with the code that a shell uses for the signal. */
export async function untilSignal(everyMs: number, turn: () => Promise<void>): Promise<void> {
  const left = leaving()
  while (!left.aborted) {
    await turn()
    await delay(everyMs, undefined, { signal: left }).catch(() => undefined)
  }
}

/** Aborted by the first signal; the process then exits with the code that a shell uses for the signal. */
export function leaving(): AbortSignal {
  const left = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      process.exitCode = 128 + constants.signals[signal]
      left.abort()
    })
  }
  return left.signal
}
