/** `gw top`: how busy routes and tenants are. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { waitMs } from '../../option-values.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface TopOptions extends PlaceOptions {
  readonly once?: true
  readonly interval: number
  readonly output: Format
}

export const top = endUsageWith64(
  bareName(
    addPlace(
      new Command('top').description(
        'Show requests, errors and tokens per second of routes and tenants, until Ctrl-C.',
      ),
    )
      .option('--once', 'show them once; the default if the output is not a terminal')
      .addOption(
        new Option('--interval <time>', 'time between two readings, which the rates cover')
          .default(2000, '2s')
          .argParser(waitMs),
      )
      .addOption(formatOption()),
    '--gateway',
    showTop,
  ),
)

async function showTop(options: TopOptions, command: Command): Promise<void> {
  const { once, interval: intervalMs, output } = options
  const place = await askedPlace(options, command)
  const { showLive, showOnce } = await import('../../top/show.ts')
  const isLive = !once && process.stdout.isTTY === true
  await (isLive ? showLive : showOnce)({ place, intervalMs, output })
}
