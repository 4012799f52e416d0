/** `gw run`: the gateway itself, in the foreground. */
import { Command } from 'commander'
import { endUsageWith64 } from '../output.ts'

export const run = endUsageWith64(
  new Command('run')
    .description('Run the gateway of a configuration file until it is told to stop.')
    .requiredOption('-f, --file <path>', 'configuration file')
    .action(runGateway),
)

async function runGateway({ file }: { readonly file: string }): Promise<void> {
  const gateway = await import('../../dataplane/main.ts')
  // Probes and pools may still hold the loop; with the last request settled nothing is left to do.
  process.exit(await gateway.run(file))
}
