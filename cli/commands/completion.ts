/** `gw completion`: a script with which a shell completes the tool's commands and options. */
import { Argument, Command, Option } from 'commander'
import type { Shell } from '../printing/completion.ts'
import { NAME_KINDS } from '../printing/name-kinds.ts'
import { EXIT, endUsageWith64, printText } from '../printing/output.ts'

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish']

export const completion = endUsageWith64(
  new Command('completion')
    .description('Print a script that completes commands, options and names in a shell.')
    .addArgument(new Argument('[shell]', 'bash, zsh or fish').choices(SHELLS))
    .addOption(
      new Option(
        '--names <kind>',
        'instead, print these names of the gateway on this machine, else of ./gw.yaml',
      ).choices(NAME_KINDS),
    )
    .option('-f, --file <path>', 'with --names: of this configuration file')
    .addHelpText(
      'after',
      '\nbash: source <(gw completion bash)\nzsh:  source <(gw completion zsh)\nfish: gw completion fish | source',
    )
    .action(printScript),
)

interface Wishes {
  readonly names?: string
  readonly file?: string
}

async function printScript(
  shell: Shell | undefined,
  { names, file }: Wishes,
  command: Command,
): Promise<void> {
  if ((shell === undefined) === (names === undefined) || (file && names === undefined))
    command.error('error: give a shell, or --names with or without --file', {
      exitCode: EXIT.usage,
    })
  if (names !== undefined) {
    const { knownNames } = await import('../asking/known-names.ts')
    const known = await knownNames(names, file)
    return printText(known.map((name) => `${name}\n`).join(''))
  }
  const { completionScript } = await import('../printing/completion.ts')
  const root = command.parent ?? command
  if (shell !== undefined) printText(completionScript(shell, root))
}
