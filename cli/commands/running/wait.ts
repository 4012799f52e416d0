/** `gw wait`: waits until a gateway is ready. */
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  addPlace,
  askedPlace,
  gatewayIn,
  NothingRuns,
  type PlaceOptions,
} from '../../asking/place.ts'
import { waitMs } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine } from '../../printing/output.ts'
import type { Met } from '../../status/waiting.ts'

interface Condition {
  readonly name: string
  readonly value: string
}

interface WaitOptions extends PlaceOptions {
  readonly for: Condition
  readonly timeout: number
  readonly output: Format
}

/** Written out, so that the help needs no schema; a test compares them with those of the resource. */
const CONDITIONS = [
  'Accepted',
  'ResolvedRefs',
  'WorkloadAvailable',
  'Programmed',
  'Degraded',
  'Ready',
  'Exposed',
  'CertificateValid',
  'Verified',
  'Stalled',
  'Reconciling',
]
const VALUES = ['True', 'False', 'Unknown']
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
      new Option(
        '--for <condition>',
        'condition=NAME or condition=NAME=VALUE, or NAME; VALUE is True if absent, ' +
          `NAME one of ${CONDITIONS.join(', ')}; outside a cluster only Ready and Verified`,
      )
        .argParser(conditionOf)
        .default({ name: 'Ready', value: 'True' }, 'condition=Ready'),
    )
    .addOption(
      new Option('--timeout <time>', 'how long to wait')
        .argParser(waitMs)
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
  const { waitInCluster, waitStandAlone, readiness } = await import('../../status/waiting.ts')
  const { verifiedLook } = await import('../../status/verified-wait.ts')
  const { name: condition, value } = options.for
  const waiting = { condition, value, timeoutMs: options.timeout }
  const asked = name === undefined ? options : { ...options, gateway: name }
  const placeNow = () => askedPlace(asked, command)
  const place = await placeNow().catch((error: Error) => {
    if (error instanceof NothingRuns) return undefined
    throw error
  })
  if (place?.kind === 'cluster')
    return await printMet(await waitInCluster(place, waiting), condition, options)
  if ((condition !== 'Ready' && condition !== 'Verified') || value !== 'True') {
    const message = 'error: a gateway outside a cluster has only the conditions Ready and Verified'
    command.error(message, { exitCode: EXIT.usage })
  }
  const look = condition === 'Verified' ? verifiedLook : readiness
  await printMet(await waitStandAlone(placeNow, look, waiting), condition, options)
}

async function printMet({ gateway, met }: Met, condition: string, { output }: WaitOptions) {
  const value = { gateway, condition, met: true }
  await printData(output, { value, names: [gateway], print: () => printLine(met) })
}

/** As in kubectl: `condition=Ready`, `condition=Degraded=False`. */
function conditionOf(text: string): Condition {
  if (CONDITIONS.includes(text)) return { name: text, value: 'True' }
  const [kind, name = '', value = 'True', ...more] = text.split('=')
  const isOne = kind === 'condition' && CONDITIONS.includes(name)
  if (isOne && VALUES.includes(value) && more.length === 0) return { name, value }
  throw new InvalidArgumentError(
    `Give condition=NAME or condition=NAME=VALUE, with a name of ${CONDITIONS.join(', ')} and a value of ${VALUES.join(', ')}.`,
  )
}
