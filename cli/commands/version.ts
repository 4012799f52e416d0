/** `gw version`: shows the versions of the tool and of the gateways that it finds. */
import { Command } from 'commander'
import { VERSION } from '../../dataplane/base/version.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../asking/place.ts'
import { type Format, formatOption, printData } from '../printing/formats.ts'
import { endUsageWith64, printRemark } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

interface VersionOptions extends PlaceOptions {
  readonly client?: true
  readonly output: Format
}

export const version = endUsageWith64(
  addPlace(
    new Command('version').description('Show the version of the tool and of running gateways.'),
  )
    .option('--client', 'only the version of the tool; asks no gateway')
    .addOption(formatOption())
    .action(showVersion),
)

async function showVersion(options: VersionOptions, command: Command): Promise<void> {
  const gateways = options.client ? [] : await versionsOf(options, command)
  const rows = [['gw', VERSION], ...gateways.map(({ name, version }) => [name, version])]
  await printData(options.output, {
    value: { client: VERSION, gateways },
    names: rows.map(([name]) => String(name)),
    print: (isWide) => printTable(['WHAT', 'VERSION'], rows, isWide),
  })
}

/** Without a gateway, the command still prints the version of the tool. */
async function versionsOf(options: VersionOptions, command: Command) {
  const { askEach, withGateways } = await import('../asking/asked-gateways.ts')
  try {
    const place = await askedPlace(options, command)
    const { answers, silent } = await withGateways(place, (gateways) =>
      askEach(gateways, async (gateway) => {
        const { body } = await gateway.ask('/status')
        return { name: gateway.name, version: String(Object(body).version) }
      }),
    )
    for (const why of silent) printRemark(why)
    return answers
  } catch (error) {
    printRemark(error instanceof Error ? error.message : String(error))
    return []
  }
}
