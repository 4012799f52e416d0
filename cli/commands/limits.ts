/** `gw limits`: how a tenant stands. */
import { Command } from 'commander'
import { adminOption, askAdmin } from '../connection.ts'
import { endUsageWith64, type Format, formatOption, printLine, printValue } from '../output.ts'

interface ShowOptions {
  readonly tenant: string
  readonly admin: string
  readonly output: Format
}

const show = new Command('show')
  .description('Show every limit of a tenant: what is used, held and left, and when it resets.')
  .requiredOption('--tenant <name>', 'tenant; one without rules of its own has the default limits')
  .addOption(adminOption())
  .addOption(formatOption())
  .action(showLimits)

export const limits = endUsageWith64(
  new Command('limits').description('Show how tenants stand.').addCommand(show),
)

async function showLimits({ tenant, admin, output }: ShowOptions): Promise<void> {
  const { status, body } = await askAdmin(admin, `/limits/${encodeURIComponent(tenant)}`)
  if (status !== 200) throw new Error(`The gateway at ${admin} answered with ${status}.`)
  if (output !== 'table') return await printValue(body, output)
  const { Standing, printStanding } = await import('../limits-table.ts')
  printLine(`tenant ${tenant}\n`)
  printStanding(Standing.parse(body))
}
