/** `gw status`: the state of a gateway. */
import { Command } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions, placeOf } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { EXIT, endUsageWith64 } from '../../printing/output.ts'

interface StatusOptions extends PlaceOptions {
  readonly watch?: true
  readonly allNamespaces?: true
  readonly output: Format
}

export const status = endUsageWith64(
  bareName(
    addPlace(
      new Command('status').description(
        'Show what a gateway enforces and its health; exits with 1 if it is not ready.',
      ),
    )
      .option('-A, --all-namespaces', 'list the gateways of all namespaces')
      .option('-w, --watch', 'show it again whenever it changes, until Ctrl-C')
      .addOption(formatOption()),
    '--gateway',
    showStatus,
    'allNamespaces',
  ),
)

async function showStatus(options: StatusOptions, command: Command): Promise<void> {
  const { watch, output, allNamespaces } = options
  const ofAll = allNamespaces === true
  // Only a cluster has namespaces, even if a gateway runs on this machine.
  const place = await (ofAll ? placeOf(options, command) : askedPlace(options, command))
  if (ofAll && place.kind === 'stand-alone') {
    command.error('error: -A is for a cluster; give --kubeconfig or --context', {
      exitCode: EXIT.usage,
    })
  }
  const { showOnce, showChanges } = await import('../../status/show.ts')
  if (watch) await showChanges({ place, ofAll, output })
  else await showOnce({ place, ofAll, output })
}
