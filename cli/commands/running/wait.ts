/** `gw wait`: waits until a gateway is ready. */
import { Command, Option } from 'commander'
import {
  addPlace,
  askedPlace,
  gatewayIn,
  NothingRuns,
  type PlaceOptions,
} from '../../asking/place.ts'
import { durationMs } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine } from '../../printing/output.ts'
import type { Met } from '../../status/waiting.ts'

interface WaitOptions extends PlaceOptions {
  readonly for: string
  readonly timeout: number
  readonly output: Format
}

const CONDITIONS = ['Ready', 'Programmed', 'Accepted']
const TWO_MINUTES_MS = 120_000

export const wait = endUsageWith64(
  addPlace(
    new Command('wait')
      .description(
        'Wait until a gateway is ready, or a condition of a GatewayConfig is true; exits with 1 if it takes too long.',
      )
      .argument('[gateway]', 'in a cluster: gwc/NAME', gatewayIn),
  )
    .addOption(
      new Option('--for <condition>', 'what to wait for; Ready is the only one outside a cluster')
        .choices(CONDITIONS.map((condition) => `condition=${condition}`))
        .default('condition=Ready'),
    )
    .addOption(
      new Option('--timeout <time>', 'how long to wait')
        .argParser(durationMs)
        .default(TWO_MINUTES_MS, '2m'),
    )
    .addOption(formatOption())
    .action(waitForGateway),
)

async function waitForGateway(
  name: string | undefined,
  options: WaitOptions,
  command: Command,
): Promise<void> {
  if (name !== undefined && options.gateway !== undefined) {
    const message = 'error: gwc/NAME and --gateway both name a gateway; give one'
    command.error(message, { exitCode: EXIT.usage })
  }
  const { waitInCluster, waitStandAlone } = await import('../../status/waiting.ts')
  const waiting = { condition: options.for.replace('condition=', ''), timeoutMs: options.timeout }
  const asked = name === undefined ? options : { ...options, gateway: name }
  const placeNow = () => askedPlace(asked, command)
  const place = await placeNow().catch((error: Error) => {
    if (error instanceof NothingRuns) return undefined
    throw error
  })
  if (place?.kind === 'cluster')
    return await printMet(await waitInCluster(place, waiting), waiting.condition, options)
  if (waiting.condition !== 'Ready') {
    const message = 'error: a gateway outside a cluster has only the condition Ready'
    command.error(message, { exitCode: EXIT.usage })
  }
  await printMet(await waitStandAlone(placeNow, waiting), waiting.condition, options)
}

async function printMet({ gateway, met }: Met, condition: string, { output }: WaitOptions) {
  const value = { gateway, condition, met: true }
  await printData(output, { value, names: [gateway], print: () => printLine(met) })
}
