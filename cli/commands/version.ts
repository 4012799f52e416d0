/** `gw version`: of the tool, and of the gateways that it can ask. */
import { Command } from 'commander'
import { VERSION } from '../../dataplane/base/version.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../asking/place.ts'
import {
  endUsageWith64,
  type Format,
  formatOption,
  printTable,
  printValue,
} from '../printing/output.ts'

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
  if (options.output !== 'table')
    return await printValue({ client: VERSION, gateways }, options.output)
  const rows = gateways.map(({ name, version }) => [name, version])
  printTable(['WHAT', 'VERSION'], [['gw', VERSION], ...rows])
}

/** Without a gateway the version of the tool is an answer all the same. */
async function versionsOf(options: VersionOptions, command: Command) {
  const { withGateways } = await import('../asking/asked-gateways.ts')
  try {
    const place = await askedPlace(options, command)
    return await withGateways(place, (gateways) =>
      Promise.all(
        gateways.map(async (gateway) => {
          const { body } = await gateway.ask('/status')
          return { name: gateway.name, version: String(Object(body).version) }
        }),
      ),
    )
  } catch (error) {
    const { printRemark } = await import('../printing/output.ts')
    printRemark(error instanceof Error ? error.message : String(error))
    return []
  }
}
