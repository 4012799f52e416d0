/** `gw status`: how a gateway stands. */
import { Command } from 'commander'
import { endUsageWith64, type Format, formatOption } from '../output.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../place.ts'

interface StatusOptions extends PlaceOptions {
  readonly watch?: true
  readonly output: Format
}

export const status = endUsageWith64(
  addPlace(
    new Command('status').description(
      'Show what a gateway enforces and how it is; ends with 1 if it is not ready.',
    ),
  )
    .option('-w, --watch', 'show it again whenever it changes, until Ctrl-C')
    .addOption(formatOption())
    .action(showStatus),
)

async function showStatus(options: StatusOptions, command: Command): Promise<void> {
  const { watch, output } = options
  const place = await askedPlace(options, command)
  const { showOnce, showChanges } = await import('../status/show.ts')
  if (watch) await showChanges(place, output)
  else await showOnce(place, output)
}
