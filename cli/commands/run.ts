/** `gw run`: the gateway itself, in the foreground. */
import { existsSync } from 'node:fs'
import { Command, Option } from 'commander'
import { bareName } from '../asking/bare-name.ts'
import { EXIT, endUsageWith64 } from '../printing/output.ts'

/** `gw init` writes it. */
const USUAL_FILE = 'gw.yaml'

export const run = endUsageWith64(
  bareName(
    new Command('run')
      .description('Run the gateway of a configuration file until it is stopped.')
      .option('-f, --file <path>', `configuration file; ./${USUAL_FILE} if absent`)
      .addOption(
        new Option(
          '--log-format <format>',
          'how to write the log; auto is text on a terminal, else JSON',
        )
          .env('GW_LOG_FORMAT')
          .choices(['auto', 'text', 'json']),
      ),
    '--file',
    runGateway,
  ),
)

interface RunOptions {
  readonly file?: string
  readonly logFormat?: string
}

async function runGateway({ file, logFormat }: RunOptions, command: Command): Promise<void> {
  if (file === undefined && !existsSync(USUAL_FILE)) {
    const fix = 'give a file with --file, or make one with `gw init`'
    command.error(`error: there is no ./${USUAL_FILE}; ${fix}`, { exitCode: EXIT.usage })
  }
  const gateway = await import('../../dataplane/main.ts')
  // Probes and connection pools may keep the event loop alive, but after the last request the process may exit.
  process.exit(await gateway.run(file ?? USUAL_FILE, logFormat))
}
