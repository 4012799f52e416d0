/** `gw init`: writes a first configuration from four answers. */
import { Command } from 'commander'
import type { InitOptions } from '../init/init.ts'
import { endUsageWith64 } from '../printing/output.ts'

export const init = endUsageWith64(
  new Command('init')
    .description(
      'Write a configuration for one model: asks for provider, model, its key or address, and your team. ' +
        'Without a terminal, give the answers as options.',
    )
    .option('--provider <name>', 'software or API that has the model, such as openai or vllm')
    .option('--model <name>', 'name of the model at the provider')
    .option('--api-key-env <variable>', 'variable with the API key of a hosted provider')
    .option('--endpoint <url>', 'address of the provider; needed for your own model servers')
    .option('--tenant <name>', 'team that gets the first key')
    .option('-f, --file <path>', 'file to write', 'gw.yaml')
    .action(writeFirst),
)

async function writeFirst(options: InitOptions, command: Command): Promise<void> {
  const { runInit } = await import('../init/init.ts')
  await runInit(options, command)
}
