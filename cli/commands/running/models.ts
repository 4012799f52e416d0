/** `gw models`: the names that clients may send, and where requests with them go. */
import { Command, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { endUsageWith64, printLine, printValue } from '../../printing/output.ts'

interface ModelsOptions extends PlaceOptions {
  readonly output: 'table' | 'json' | 'yaml' | 'name'
}

export const models = endUsageWith64(
  addPlace(
    new Command('models').description(
      'List the names that clients may send as `model`, and which upstreams take requests with them now.',
    ),
  )
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json', 'yaml', 'name'])
        .default('table'),
    )
    .action(listModels),
)

async function listModels(options: ModelsOptions, command: Command): Promise<void> {
  const { output } = options
  const { askModels, printModels } = await import('../../status/models.ts')
  const found = await askModels(await askedPlace(options, command))
  if (output === 'table') printModels(found)
  else if (output === 'name') for (const { name } of found) printLine(name)
  else await printValue({ models: found }, output)
}
