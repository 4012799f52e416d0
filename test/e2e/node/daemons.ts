/**
 * The node's programs: they outlive the process that starts them, and are found again by their
 * recorded ids.
 */
import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../helpers/until.ts'
import { FOLDER, inNetwork } from './layout.ts'

const DAEMONS = join(FOLDER, 'daemons')
const OUTPUT_LENGTH_MAX = 3000

interface Daemon {
  readonly pid: number
  readonly path: string
  readonly args: readonly string[]
}

/**
 * Starts it in the node's network and folder: the folder distinguishes it from another process with
 * its id.
 */
export async function startDaemon(name: string, path: string, args: readonly string[]) {
  await mkdir(DAEMONS, { recursive: true })
  const output = openSync(join(DAEMONS, `${name}.log`), 'a')
  const [program, all] = inNetwork(path, args)
  const child = spawn(program, all, {
    cwd: FOLDER,
    detached: true,
    stdio: ['ignore', output, output],
  })
  child.on('error', () => undefined)
  child.unref()
  if (child.pid === undefined) throw new Error(`${name} could not be started.`)
  const daemon: Daemon = { pid: child.pid, path, args }
  await writeFile(join(DAEMONS, `${name}.json`), JSON.stringify(daemon))
}

/** Kills it, like a crash. */
export async function killDaemon(name: string): Promise<void> {
  const { pid } = await recorded(name)
  if (await isOurs(pid)) process.kill(pid, 'SIGKILL')
  await until(`${name} is gone`, async () => !(await isOurs(pid)))
}

/** Restarts it with the same arguments. */
export async function restartDaemon(name: string): Promise<void> {
  const { path, args } = await recorded(name)
  await startDaemon(name, path, args)
}

export async function isDaemonRunning(name: string): Promise<boolean> {
  const daemon = await recorded(name).catch(() => undefined)
  return daemon !== undefined && (await isOurs(daemon.pid))
}

/** Names of the started programs that no longer run. */
export async function deadDaemons(): Promise<string[]> {
  const files = await readdir(DAEMONS).catch(() => [])
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -5))
  const dead: string[] = []
  for (const name of names) if (!(await isDaemonRunning(name))) dead.push(name)
  return dead
}

/** The end of each program's output. */
export async function daemonOutputs(): Promise<string> {
  const files = await readdir(DAEMONS).catch(() => [])
  const pieces: string[] = []
  for (const file of files.filter((name) => name.endsWith('.log'))) {
    const text = await readFile(join(DAEMONS, file), 'utf8')
    pieces.push(`--- ${file}\n${text.slice(-OUTPUT_LENGTH_MAX)}`)
  }
  return pieces.join('\n')
}

/**
 * Ends every process in the node's folder: the programs above, and the processes that containerd
 * started for each container.
 */
export async function killDaemons(): Promise<void> {
  await until('the programs of the node are gone', async () => {
    const pids = await ourProcesses()
    for (const pid of pids) killQuietly(pid)
    return pids.length === 0
  })
  await rm(DAEMONS, { recursive: true, force: true })
}

async function recorded(name: string): Promise<Daemon> {
  return JSON.parse(await readFile(join(DAEMONS, `${name}.json`), 'utf8'))
}

async function ourProcesses(): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  const ours: number[] = []
  for (const pid of pids) if (pid !== process.pid && (await isOurs(pid))) ours.push(pid)
  return ours
}

/** An ended process has no folder, even if its parent has not collected its exit yet. */
async function isOurs(pid: number): Promise<boolean> {
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  return folder === FOLDER || folder.startsWith(`${FOLDER}/`)
}

export function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}
