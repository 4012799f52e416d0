/** Everything the tool prints: formats, colours, and what an exit code means. */
import { type Command, type CommanderError, Option } from 'commander'
import { withHint } from './usage-hints.ts'

/** Exit codes, for scripts. */
export const EXIT = { ok: 0, no: 1, unanswered: 2, usage: 64 } as const

/** The question could be asked, and the answer is no: not found, exists already, has ended. All other errors end with 2. */
export class AnswerIsNo extends Error {}

const FORMATS = ['table', 'json', 'yaml'] as const
export type Format = (typeof FORMATS)[number]

export function formatOption(initial: Format = 'table'): Option {
  return new Option('-o, --output <format>', 'how to print').choices(FORMATS).default(initial)
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printText(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** For people: remarks and faults, apart from what a program reads on standard output. */
export function printRemark(text: string): void {
  process.stderr.write(`${text}\n`)
}

const QUIET_MS = 1000

/** Says what is waited for, once it takes longer than a second. */
export async function telling<T>(what: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => printRemark(`${what} …`), QUIET_MS)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/** One value for a program, in the format that was asked for. */
export async function printValue(value: unknown, format: Exclude<Format, 'table'>): Promise<void> {
  if (format === 'json') return printLine(JSON.stringify(value, null, 2))
  const { stringify } = await import('yaml')
  printText(stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }))
}

/** Columns as wide as their widest cell. A hyphen stands for an absent value, so that every line has all columns. */
export function printTable(head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const lines = [head, ...rows].map((row) => row.map((cell) => String(cell ?? '-')))
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    printLine(cells.join('  ').trimEnd())
  }
}

const COLOURS = { red: 31, green: 32, yellow: 33, grey: 90, bold: 1 } as const
export type Colour = keyof typeof COLOURS

/** Colours only where a person reads: a terminal that did not ask for plain text. */
export function paint(text: string, colour: Colour, stream: NodeJS.WriteStream): string {
  const isColourful = stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return isColourful ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text
}

/** Ends with the code of wrong usage where commander would end with 1. */
export function endUsageWith64(command: Command): Command {
  for (const one of command.commands) endUsageWith64(one)
  command.configureOutput({
    outputError: (text, write) => write(withHint(text, command, process.argv.slice(2))),
  })
  return command.exitOverride((error: CommanderError) => {
    process.exit(error.exitCode === EXIT.ok ? EXIT.ok : EXIT.usage)
  })
}
