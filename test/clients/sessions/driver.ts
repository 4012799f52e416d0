/** Runs a session that a driver plays, in the language of its client. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { nodeFolder, pythonOf } from '../install.ts'
import type { Row } from '../rows.ts'
import type { Shown, Stage } from './stage.ts'
import { promptOf, TASKS } from './steps.ts'

const DRIVER_MS_MAX = 120_000

type Driven = Pick<Row, 'runtime' | 'group' | 'driver' | 'api'>

async function commandOf({ runtime, group = '', driver }: Driven): Promise<readonly string[]> {
  if (runtime === 'python')
    return [await pythonOf(group), join(import.meta.dirname, '../python', driver)]
  return [process.execPath, join(await nodeFolder(), driver)]
}

/** The driver's last line of output. */
export async function byDriver(driven: Driven, { url, key, workspace }: Stage): Promise<Shown> {
  const [program = '', file = ''] = await commandOf(driven)
  const prompts = Object.fromEntries(TASKS.map((task) => [task, promptOf(task)]))
  const args = JSON.stringify({ url, key, model: 'served', root: workspace.root, prompts })
  const { output } = await ended(program, [file, args, driven.api, driven.group ?? ''], {
    cwd: workspace.root,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  const last = output.trim().split('\n').at(-1) ?? ''
  if (!last.startsWith('{')) throw new Error(`The driver printed: ${output.slice(-1500)}`)
  return JSON.parse(last)
}

export interface Ended {
  readonly output: string
  readonly code: number | null
}

/** Runs a program and its children to their end; interrupts them when `stop` resolves. */
export async function ended(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  stop?: () => Promise<void>,
): Promise<Ended> {
  const child = spawn(program, args, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const pieces: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => pieces.push(piece))
  const end = (signal: NodeJS.Signals) => {
    // The process group no longer exists if the program has ended meanwhile.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal)
  }
  const timer = setTimeout(() => end('SIGKILL'), DRIVER_MS_MAX)
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  if (stop !== undefined) {
    await Promise.race([stop().catch(() => {}), closed])
    end('SIGINT')
  }
  const code = await closed
  clearTimeout(timer)
  return { output: pieces.join(''), code }
}
