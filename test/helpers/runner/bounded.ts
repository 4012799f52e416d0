/** Runs a program with its children, for at most its allowed time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Bound {
  readonly msMax?: number
  /** The time for a clean end after the request. */
  readonly graceMs?: number
}

export type Outcome = 'passed' | 'failed' | 'took too long'

/** A separate group of processes, so that no child is left when it must be ended. */
export async function runBounded(
  program: string,
  args: readonly string[],
  { msMax, graceMs = 20_000 }: Bound = {},
): Promise<Outcome> {
  let interruption: NodeJS.Signals | undefined
  const interrupt = (signal: NodeJS.Signals) => {
    interruption = signal
    end(signal)
  }
  // First, because the program may run before the next line of this one.
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  const child = spawn(program, args, { stdio: 'inherit', detached: true })
  const end = (signal: NodeJS.Signals) => signalGroup(child.pid, signal)
  let isTooLong = false
  const timers =
    msMax === undefined
      ? []
      : [
          setTimeout(() => {
            isTooLong = true
            end('SIGTERM')
          }, msMax),
          setTimeout(() => end('SIGKILL'), msMax + graceMs),
        ]
  try {
    const [code] = await once(child, 'close')
    if (isTooLong) return 'took too long'
    return code === 0 ? 'passed' : 'failed'
  } finally {
    for (const timer of timers) clearTimeout(timer)
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    // A child may have outlived it.
    if (isTooLong) end('SIGKILL')
    // The user who ended both processes does not need the next step.
    if (interruption !== undefined) process.kill(process.pid, interruption)
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // All of them have ended.
  }
}
