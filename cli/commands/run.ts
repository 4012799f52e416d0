/** `gw run`: the gateway itself, in the foreground. */
import { Command, Option } from 'commander'
import { endUsageWith64 } from '../printing/output.ts'

export const run = endUsageWith64(
  new Command('run')
    .description('Run the gateway of a configuration file until it is stopped.')
    .requiredOption('-f, --file <path>', 'configuration file')
    .addOption(
      new Option(
        '--log-format <format>',
        'how to write the log; auto is text on a terminal, else JSON',
      )
        .env('GW_LOG_FORMAT')
        .choices(['auto', 'text', 'json']),
    )
    .action(runGateway),
)

interface RunOptions {
  readonly file: string
  readonly logFormat?: string
}

async function runGateway({ file, logFormat }: RunOptions): Promise<void> {
  const gateway = await import('../../dataplane/main.ts')
  // Probes and connection pools may keep the event loop alive, but after the last request the process may exit.
  process.exit(await gateway.run(file, logFormat))
}
