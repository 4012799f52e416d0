/** Plays the session of an agent that is a program: one run for each task. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeFolder } from '../install.ts'
import type { Script } from './brain.ts'
import { ended } from './driver.ts'
import type { Shown, Stage } from './stage.ts'
import { TASKS, type Task } from './steps.ts'

export interface Program {
  readonly script: Script
  /** The configuration files, by path in the agent's home folder. */
  files?(stage: Stage): Readonly<Record<string, string>>
  /** undefined: the agent cannot do that. */
  command(task: Task, stage: Stage, home: string): Command | undefined | Promise<Command>
}

export interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Each task is one run of the program; the test interrupts the run that the client shall leave. */
export async function playProgram(program: Program, stage: Stage): Promise<Shown> {
  const home = join(stage.workspace.root, '.home')
  writeFiles(home, program.files?.(stage) ?? {})
  const folder = join(await nodeFolder(), 'node_modules/.bin')
  const shown: { -readonly [one in Task]?: Shown[one] } = {}
  for (const task of TASKS) {
    const command = await program.command(task, stage, home)
    if (command === undefined) continue
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: home, ...command.env }
    const options = { cwd: stage.workspace.root, env }
    const stop = task === 'abort' ? () => stage.endless() : undefined
    const { output, code } = await ended(command.program, command.args, options, stop)
    shown[task] = { text: output, ...(code !== 0 && { error: `exits with ${code}: ${output}` }) }
  }
  return shown
}

function writeFiles(home: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(home, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), text)
  }
}
