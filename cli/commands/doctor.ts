/** `gw doctor`: what keeps a gateway on this machine from working, in one list with fixes. */
import { Command } from 'commander'
import { adminOption } from '../asking/connection.ts'
import { type Format, formatOption } from '../printing/formats.ts'
import { endUsageWith64 } from '../printing/output.ts'

interface DoctorOptions {
  readonly file?: string
  readonly admin?: string
  readonly output: Format
}

export const doctor = endUsageWith64(
  new Command('doctor')
    .description(
      'Check versions, admin sockets, ports, the clock, Redis and the reachability of upstreams; exits with 1 if one fails.',
    )
    .option('-f, --file <path>', 'configuration to check; ./gw.yaml, if it exists, is the default')
    .addOption(adminOption())
    .addOption(formatOption())
    .action(examine),
)

async function examine(options: DoctorOptions): Promise<void> {
  const { runDoctor } = await import('../doctor/doctor.ts')
  await runDoctor(options)
}
