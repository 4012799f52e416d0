/** Hints about wrong usage: the right place of a command, and the nearest option. */
import type { Command } from 'commander'

/** The error for the user; `words`: the arguments after the name of the tool. */
export function withHint(text: string, command: Command, words: readonly string[]): string {
  const unknown = /unknown command '([^']+)'/.exec(text)?.[1]
  if (unknown !== undefined) return hintAtCommand(text, unknown, command)
  if (!text.includes('required option')) return text
  const options = new Set(command.options.flatMap(({ long, short }) => [long, short]))
  const stray = words
    .map((word) => word.split('=', 1)[0] ?? '')
    .find((word) => /^--[a-z]/.test(word) && !options.has(word))
  return stray === undefined ? text : `${text.trimEnd()}, and there is no option '${stray}'\n`
}

function hintAtCommand(text: string, unknown: string, program: Command): string {
  const places = program.commands.flatMap((group) =>
    group.commands
      .filter((command) => command.name() === unknown)
      .map((command) => `${program.name()} ${group.name()} ${command.name()}`),
  )
  if (places.length === 0) return text
  const [first = ''] = text.split('\n')
  return `${first}\n(Did you mean ${places.join(', or ')}?)\n`
}
