/** The formats of every command that prints data: declared and printed in one place. */
import { Option } from 'commander'
import { printLine, printText } from './output.ts'

export const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const
export type Format = (typeof FORMATS)[number]

/** The answer of a command, for people and for programs. */
export interface Data {
  /** The document of `-o json` and `-o yaml`. */
  readonly value: unknown
  /** The lines of `-o name`. */
  readonly names: readonly string[]
  /** For people; `isWide` asks for all columns, as wide as they are. */
  print(isWide: boolean): void | Promise<void>
}

const MEANING = 'output format; wide shows more columns, name only names'

/** `more`: formats that only this command has. */
export function formatOption(initial: Format = 'table', more: readonly string[] = []): Option {
  return new Option('-o, --output <format>', MEANING)
    .choices([...FORMATS, ...more])
    .default(initial)
}

/** A key is shown only once, so its name alone would lose it. */
export function keyFormatOption(): Option {
  const formats = FORMATS.filter((format) => format !== 'name')
  return new Option('-o, --output <format>', 'how to print').choices(formats).default('table')
}

export async function printData(format: Format, { value, names, print }: Data): Promise<void> {
  if (format === 'json' || format === 'yaml') return await printValue(value, format)
  if (format !== 'name') return await print(format === 'wide')
  for (const name of names) printLine(name)
}

export function isForPeople(format: Format): boolean {
  return format === 'table' || format === 'wide'
}

/** One value for a program. */
export async function printValue(value: unknown, format: 'json' | 'yaml'): Promise<void> {
  if (format === 'json') return printLine(JSON.stringify(value, null, 2))
  const { stringify } = await import('yaml')
  printText(stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }))
}
