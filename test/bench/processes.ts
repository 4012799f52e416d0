/** Child processes of the benchmark: started on one core, awaited, and stopped by their own id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const OPEN_FILES = 20_000
// Each child is stopped when this process ends, also by a signal, which would leave them.
process.setMaxListeners(64)
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
const READY_TIMEOUT_MS = 180_000
const STOP_TIMEOUT_MS = 3_000

/** The core of the measured process, and the core of the measuring one. */
export const MEASURED_CORE = 0
export const LOAD_CORE = 1

export interface Command {
  readonly name: string
  /** A number, or a range: `0-3`. */
  readonly core: number | string
  readonly program: string
  readonly arguments: readonly string[]
  /** Where standard output and error go; a pipe for standard output when absent. */
  readonly outputFile?: string
  readonly directory?: string
}

export interface Process {
  readonly name: string
  readonly pid: number
  readonly child: ChildProcess
  readonly outputFile: string | undefined
  stop(): Promise<void>
}

/** bash raises the number of open files and becomes taskset, which becomes the program: one id. */
export function startProcess(command: Command): Process {
  const output = command.outputFile === undefined ? 'pipe' : openSync(command.outputFile, 'a')
  const script = `ulimit -n ${OPEN_FILES} && exec taskset -c ${command.core} "$@"`
  const child = spawn('bash', ['-c', script, 'bash', command.program, ...command.arguments], {
    detached: true,
    stdio: ['ignore', output, output === 'pipe' ? 'inherit' : output],
    ...(command.directory !== undefined && { cwd: command.directory }),
  })
  if (typeof output === 'number') closeSync(output)
  if (child.pid === undefined) throw new Error(`${command.name} could not be started`)
  const pid = child.pid
  const kill = () => killGroup(pid)
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
  return {
    name: command.name,
    pid,
    child,
    outputFile: command.outputFile,
    stop: () => stopProcess(child, pid),
  }
}

async function stopProcess(child: ChildProcess, pid: number): Promise<void> {
  if (hasExited(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => killGroup(pid), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** The group includes nginx's worker and master. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has ended by itself meanwhile, as intended.
  }
}

/** A process that does not become ready is stopped before the error is thrown. */
export function untilReady(started: Process, url: string): Promise<void> {
  return until(() => isOk(url), started)
}

/** For servers without HTTP. */
export function untilAccepting(started: Process, port: number): Promise<void> {
  return until(() => isAccepting(port), started)
}

async function until(isReady: () => Promise<boolean>, started: Process): Promise<void> {
  const end = Date.now() + READY_TIMEOUT_MS
  while (Date.now() < end && !hasExited(started.child)) {
    if (await isReady()) return
    await sleep(50)
  }
  const state = hasExited(started.child) ? 'ended at its start' : 'did not become ready'
  await started.stop()
  const output = started.outputFile === undefined ? '' : readFileSync(started.outputFile, 'utf8')
  throw new Error(`${started.name} ${state}; its last output:\n${output.slice(-2_000)}`)
}

async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

function isAccepting(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
