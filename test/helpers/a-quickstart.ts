/** `make run` as a separate process, and its printed blocks pasted into a shell, as by a reader. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import './runtime-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
export const QUICKSTART = join(ROOT, 'cli/quickstart/quickstart.ts')
const END = 'Press Ctrl-C to stop.\n'
const FLAGS = ['port', 'metrics-port', 'simulator-port']

export interface Quickstart {
  readonly printed: string
  readonly logFile: string
  /** Its standard error so far. */
  readonly said: () => string
  /** Resolves with the exit code and the signal. */
  readonly interrupt: () => Promise<unknown[]>
  readonly stop: () => Promise<void>
}

/** Resolves when it has printed everything; it looks for free ports from the given one on. */
export async function startQuickstart(from: number): Promise<Quickstart> {
  const args = [QUICKSTART, ...FLAGS.map((flag) => `--${flag}=${from}`)]
  const child = spawn(process.execPath, args, { stdio: 'pipe' })
  const exited = once(child, 'exit')
  const errors: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
  const said = () => errors.join('')
  const end = async (signal: 'SIGINT' | 'SIGTERM') => {
    child.kill(signal)
    return await exited
  }
  let printed = ''
  for await (const piece of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    printed += piece
    if (printed.endsWith(END)) break
  }
  if (!printed.endsWith(END)) throw new Error(`It ended too early: ${printed}${said()}`)
  const logFile = /^ {2}Log +(\S+)$/m.exec(printed)?.[1] ?? ''
  const stop = async () => {
    await end('SIGTERM')
    await rm(dirname(logFile), { recursive: true, force: true })
  }
  return { printed, logFile, said, interrupt: () => end('SIGINT'), stop }
}

/** Runs a printed block; programs in these folders come before those of the host. */
export async function paste(block: string, ...folders: readonly string[]): Promise<string> {
  const path = [...folders, join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH: path }
  const { stdout } = await promisify(execFile)('sh', ['-c', block], { cwd: ROOT, env })
  return stdout
}
