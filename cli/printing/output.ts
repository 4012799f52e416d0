/** Output of the tool, and the meaning of exit codes. */
import type { Command, CommanderError } from 'commander'
import { withHint } from './usage-hints.ts'

/** Exit codes, for scripts. */
export const EXIT = { ok: 0, no: 1, unanswered: 2, usage: 64 } as const

/** The same in words, for people. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'yes',
  no: 'the answer is no: invalid, refused, different, not ready, not expected, not found, exists already',
  unanswered: 'the question could not be asked',
  usage: 'wrong usage',
}

/** The tool got an answer, and the answer is no: not found, exists already, has ended. All other errors end with 2. */
export class AnswerIsNo extends Error {}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printText(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** For people: remarks and errors, separate from the data on standard output. */
export function printRemark(text: string): void {
  process.stderr.write(`${text}\n`)
}

const QUIET_MS = 1000

/** Prints what the tool waits for if it takes longer than a second. */
export async function telling<T>(what: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => printRemark(`${what} …`), QUIET_MS)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/** Exits with the code for wrong usage instead of commander's 1. */
export function endUsageWith64(command: Command): Command {
  for (const one of command.commands) endUsageWith64(one)
  command.configureHelp({ showGlobalOptions: true }).configureOutput({
    outputError: (text, write) => write(withHint(text, command, process.argv.slice(2))),
  })
  return command.exitOverride((error: CommanderError) => {
    process.exit(error.exitCode === EXIT.ok ? EXIT.ok : EXIT.usage)
  })
}
