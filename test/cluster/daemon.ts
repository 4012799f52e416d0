/** A program of the cluster that runs until the test stops it, with its output in a file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Daemon {
  readonly name: string
  readonly pid: number
  isOver(): boolean
  /** The end of its output. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** Sends SIGTERM, and SIGKILL after a while. */
  stop(name?: NodeJS.Signals): Promise<void>
}

const OUTPUT_LENGTH_MAX = 4000
const STOP_MS_MAX = 10_000

export function startDaemon(path: string, args: readonly string[], folder: string): Daemon {
  const name = path.split('/').at(-1) ?? path
  const log = join(folder, `${name}.log`)
  const output = openSync(log, 'a')
  const child = spawn(path, args, { cwd: folder, stdio: ['ignore', output, output] })
  const closed = once(child, 'close')
  // A program that cannot start ends with an error, so a waiting caller sees the end.
  child.on('error', () => undefined)
  closed.catch(() => undefined)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const over = () => isOver(child)
  return {
    name,
    pid: child.pid ?? 0,
    isOver: over,
    output: () => readFileSync(log, 'utf8').slice(-OUTPUT_LENGTH_MAX),
    signal: (signal) => void child.kill(signal),
    stop: async (signal = 'SIGTERM') => {
      process.off('exit', kill)
      if (over()) return
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await closed.catch(() => undefined)
      clearTimeout(timer)
    },
  }
}

function isOver(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}
