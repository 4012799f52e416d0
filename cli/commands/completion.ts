/** `gw completion`: a script with which a shell completes the tool's commands and options. */
import { Argument, Command } from 'commander'
import type { Shell } from '../printing/completion.ts'
import { endUsageWith64, printText } from '../printing/output.ts'

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish']

export const completion = endUsageWith64(
  new Command('completion')
    .description('Print a script that completes commands and options in a shell.')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(SHELLS))
    .addHelpText(
      'after',
      '\nbash: source <(gw completion bash)\nzsh:  source <(gw completion zsh)\nfish: gw completion fish | source',
    )
    .action(printScript),
)

async function printScript(shell: Shell, _options: object, command: Command): Promise<void> {
  const { completionScript } = await import('../printing/completion.ts')
  const root = command.parent ?? command
  printText(completionScript(shell, root))
}
