/**
 * The tool in this process, for tests of the output and decisions of commands: a process for each costs a third of a
 * second. Tests of start, end and signals use `gw.ts`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Agent, setGlobalDispatcher } from 'undici'
import { main } from '../../cli/program.ts'
import { type Ended, TOOL } from './gw.ts'

interface Run {
  stdout: string
  stderr: string
  /** Set after the command has called `process.exit`: later output does not count. */
  exit?: number
}

/** Distinguishes the command's output from that of the test runner. */
const current = new AsyncLocalStorage<Run>()
let last: Promise<unknown> = Promise.resolve()

// As in a separate process, no command uses a connection that an earlier one left and the gateway is about to close.
setGlobalDispatcher(new Agent({ pipelining: 0 }))
catchOutput('stdout')
catchOutput('stderr')
catchExit()

/**
 * Runs a command to its end. Commands run one after the other, because arguments and exit code belong to the process.
 */
export function gw(...args: readonly string[]): Promise<Ended> {
  const ended = last.then(() => runHere(args))
  last = ended.catch(() => undefined)
  return ended
}

async function runHere(args: readonly string[]): Promise<Ended> {
  const { argv, exitCode } = process
  const listeners = process.stdout.listeners('error')
  const run: Run = { stdout: '', stderr: '' }
  process.argv = [process.execPath, TOOL, ...args]
  process.exitCode = undefined
  try {
    await current.run(run, main)
    const code = run.exit ?? Number(process.exitCode ?? 0)
    return { code, stdout: run.stdout, stderr: run.stderr }
  } finally {
    process.argv = argv
    process.exitCode = exitCode
    for (const listener of process.stdout.listeners('error')) {
      if (!listeners.includes(listener)) process.stdout.off('error', listener as () => void)
    }
  }
}

function catchOutput(name: 'stdout' | 'stderr'): void {
  const stream = process[name]
  const write = stream.write.bind(stream) as (...words: unknown[]) => boolean
  const caught = (...words: unknown[]): boolean => {
    const run = current.getStore()
    if (run === undefined) return write(...words)
    if (run.exit === undefined) run[name] += String(words[0])
    const done = words.at(-1)
    if (typeof done === 'function') done()
    return true
  }
  stream.write = caught as typeof stream.write
}

function catchExit(): void {
  const exit = process.exit.bind(process)
  process.exit = (code) => {
    const run = current.getStore()
    if (run === undefined) return exit(code)
    run.exit ??= Number(code ?? process.exitCode ?? 0)
    throw new Error('The command has ended.')
  }
}
