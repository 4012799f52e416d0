/** `gw console`: a page that shows the state of the gateway. */
import { Command } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { webAddress, wholeNumber } from '../../option-values.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface ConsoleOptions extends PlaceOptions {
  readonly browser: boolean
  readonly port: number
  readonly grafana?: string
}

const PORT_MAX = 65_535

export const liveConsole = endUsageWith64(
  addPlace(
    new Command('console').description(
      'Show all pods, routes, tenants and requests live in a browser, until Ctrl-C; on this machine with a playground.',
    ),
  )
    .option('--no-browser', 'print the address and open nothing')
    .option('--port <n>', 'loopback port; 0 picks a free one', wholeNumber(0, PORT_MAX), 0)
    .option(
      '--grafana <url>',
      'a dashboard that the charts link to, with the same time',
      webAddress,
    )
    .action(show),
)

async function show(options: ConsoleOptions, command: Command): Promise<void> {
  const { browser: opensBrowser, port, grafana } = options
  const place = await askedPlace(options, command)
  const { showConsole } = await import('../../console/show.ts')
  await showConsole({ place, port, opensBrowser, grafana })
}
