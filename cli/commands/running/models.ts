/** `gw models`: the model names that clients may send, and the upstreams behind them. */
import { Command } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface ModelsOptions extends PlaceOptions {
  readonly output: Format
}

export const models = endUsageWith64(
  addPlace(
    new Command('models').description(
      'List the names that clients may send as `model`, and the upstreams that now serve them.',
    ),
  )
    .addOption(formatOption())
    .action(listModels),
)

async function listModels(options: ModelsOptions, command: Command): Promise<void> {
  const { output } = options
  const { askModels, printModels } = await import('../../status/models.ts')
  const found = await askModels(await askedPlace(options, command))
  await printData(output, {
    value: { models: found },
    names: found.map(({ name }) => name),
    print: (isWide) => printModels(found, isWide),
  })
}
