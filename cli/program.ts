/**
 * The commands of the tool under one name. A command loads its code only when it runs, so that the help appears at
 * once.
 */
import { basename } from 'node:path'
import { Command } from 'commander'
import { VERSION } from '../dataplane/base/version.ts'
import { helpCommand } from './commands/help.ts'
import type { Groups } from './commands/index.ts'
import { causesOf, isVerbose } from './printing/causes.ts'
import { addExamples } from './printing/examples.ts'
import { AnswerIsNo, EXIT, endUsageWith64, printRemark } from './printing/output.ts'

export function makeProgram(name: string, groups: Groups): Command {
  const program = new Command(name)
    .description(
      'An inference gateway: run it, apply configurations, create keys, and show its state.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .option('--no-color', 'print without colours, as with NO_COLOR; FORCE_COLOR is for pipes')
    .option('-v, --verbose', 'after an error, also print its causes')
    .helpCommand(false)
  for (const [heading, commands] of Object.entries(groups))
    for (const command of commands) program.addCommand(command.helpGroup(heading))
  program.addCommand(helpCommand().helpGroup('Tool:'))
  addExamples(program)
  return endUsageWith64(program)
}

export async function main(): Promise<void> {
  // A reader that closes the pipe early, as `head` does, needs no more output.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.unanswered)
  })
  try {
    const { argv } = process
    await makeProgram(invokedAs(argv[1]), await groupsFor(argv[2])).parseAsync()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    printRemark(`error: ${message.replaceAll(/\s*\n\s*/g, ' ')}`)
    if (isVerbose()) for (const line of causesOf(error)) printRemark(`  cause: ${line}`)
    process.exitCode = error instanceof AnswerIsNo ? EXIT.no : EXIT.unanswered
  }
}

/** A gateway starts without the other commands: they would take two thirds of the time until it restarts itself. */
async function groupsFor(first: string | undefined): Promise<Groups> {
  if (first !== 'run') return (await import('./commands/index.ts')).GROUPS
  const { run } = await import('./commands/run.ts')
  return { 'Start:': [run] }
}

/** kubectl runs `kubectl-gw` for `kubectl gw`, and usage texts should show the latter. */
function invokedAs(path = ''): string {
  return basename(path).startsWith('kubectl-gw') ? 'kubectl gw' : 'gw'
}
