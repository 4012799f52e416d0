/** `gw help`: the help of a command, or of a topic. */
import { Command } from 'commander'
import { EXIT, EXIT_MEANINGS, endUsageWith64, printLine } from '../printing/output.ts'
import { tableLines } from '../printing/tables/table.ts'

/** Texts that belong to no single command. */
const TOPICS: Readonly<Record<string, () => void>> = { 'exit-codes': printExitCodes }

export function helpCommand(): Command {
  return endUsageWith64(
    new Command('help')
      .description('Print the help of a command, or of a topic: exit-codes.')
      .argument('[words...]', 'words of a command, or a topic')
      .action(printHelp),
  )
}

function printHelp(words: readonly string[], _options: object, command: Command): void {
  const [topic = ''] = words
  if (words.length === 1 && Object.hasOwn(TOPICS, topic)) {
    TOPICS[topic]?.()
    return
  }
  let found = command.parent ?? command
  for (const word of words) {
    const next = found.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (next === undefined) {
      const topics = Object.keys(TOPICS).join(', ')
      const message = `error: there is no command '${words.join(' ')}'; see gw help. Topics: ${topics}`
      command.error(message, { exitCode: EXIT.usage })
    }
    found = next
  }
  found.outputHelp()
}

function printExitCodes(): void {
  const rows = Object.entries(EXIT_MEANINGS).map(([name, meaning]) => [
    String(EXIT[name as keyof typeof EXIT]),
    meaning,
  ])
  for (const line of tableLines(['CODE', 'MEANING'], rows, { width: Number.POSITIVE_INFINITY }))
    printLine(line)
  printLine(
    '\nA command that a signal ends exits with 128 plus its number, such as 130 after Ctrl-C.',
  )
}
