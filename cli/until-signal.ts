/** Commands that go on until Ctrl-C. */
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

/** Takes turns until a signal comes, and ends then as a shell says that a signal has ended a program. */
export async function untilSignal(everyMs: number, turn: () => Promise<void>): Promise<void> {
  const leaving = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => leaving.abort(signal))
  }
  while (!leaving.signal.aborted) {
    await turn()
    await delay(everyMs, undefined, { signal: leaving.signal }).catch(() => undefined)
  }
  process.exitCode = 128 + constants.signals[leaving.signal.reason as NodeJS.Signals]
}
