/** Waits for another program: checks again and again, for a bounded time. */
import { setTimeout as delay } from 'node:timers/promises'

/** Resolves once the condition is true. The bound is long enough for a slow machine. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  secondsMax = 60,
): Promise<void> {
  const deadline = performance.now() + secondsMax * 1000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within ${secondsMax} s: ${what}.`)
    await delay(20)
  }
}

/** Whether a GET of this address gets 200. */
export async function answers(address: string): Promise<boolean> {
  const response = await fetch(address, { signal: AbortSignal.timeout(10_000) }).catch(() => null)
  await response?.body?.cancel()
  return response?.status === 200
}
