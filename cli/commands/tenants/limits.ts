/** `gw limits`: a tenant's use of its limits, and whether a limit holds under load. */
import { Command, Option } from 'commander'
import { keyOption, routeOption, urlFlag } from '../../asking/client-options.ts'
import { addPlace, askedPlace, type PlaceOptions, saidPlace } from '../../asking/place.ts'
import { durationMs, numberBetween } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine, printRemark } from '../../printing/output.ts'
import type { LimitsTest } from '../../trials/limits.ts'

interface ShowOptions extends PlaceOptions {
  readonly tenant: string
  readonly output: Format
}

interface LimitsTestOptions extends PlaceOptions, LimitsTest {
  readonly key?: string
}

const RATE_MAX = 600_000

const show = addPlace(
  new Command('show')
    .description(
      'Show every limit of a tenant: the amounts used, reserved and left, and the time of the reset.',
    )
    .requiredOption('--tenant <name>', 'tenant that a key, a rule or a budget names'),
)
  .addOption(formatOption())
  .action(showLimits)

const test = addPlace(
  new Command('test')
    .description(
      'Send real requests of a tenant at a rate, and check that its limit holds. With --url, --admin names ' +
        'the gateway that knows the limit; otherwise the tool assumes a burst.',
    )
    .requiredOption('--tenant <name>', 'tenant whose limit is tested')
    .requiredOption('--rate <rpm>', 'requests a minute', numberBetween(1, RATE_MAX))
    .requiredOption('--duration <time>', 'duration of the test, such as 30s', durationMs),
)
  .addOption(
    new Option(
      '--via-load-balancer',
      "send to --url, or to the address in the gateway's status, instead of one replica",
    ),
  )
  .addOption(keyOption('a key of the tenant'))
  .addOption(routeOption())
  .addOption(urlFlag())
  .addOption(formatOption())
  .action(testLimits)

export const limits = endUsageWith64(
  new Command('limits')
    .description('Show what tenants have used of their limits, and test the limits.')
    .addCommand(show)
    .addCommand(test),
)

async function showLimits(options: ShowOptions, command: Command): Promise<void> {
  const { tenant, output } = options
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const place = await askedPlace(options, command)
  const { TenantLimits, Unknown, printStanding } = await import('../../printing/limits-table.ts')
  const { name, status, body } = await withGateways(place, async ([gateway]) => {
    const answer = await gateway.ask(`/limits/${encodeURIComponent(tenant)}`)
    return { name: gateway.name, ...answer }
  })
  if (status === 404) {
    process.exitCode = EXIT.no
    return printRemark(`error: ${Unknown.parse(body).error.message}`)
  }
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  const standing = TenantLimits.parse(body)
  const names = Object.keys(standing).filter((limit) => limit !== 'tenant')
  const print = (isWide: boolean) => {
    printLine(`tenant ${tenant}${place.kind === 'cluster' ? `, as pod ${name} sees it` : ''}\n`)
    printStanding(standing, isWide)
  }
  await printData(output, { value: body, names, print })
}

async function testLimits(options: LimitsTestOptions, command: Command): Promise<void> {
  const { key, tenant } = options
  if (key === undefined) {
    const message = `error: give a key of tenant "${tenant}" in GW_KEY: keys are stored as hashes`
    return command.error(message, { exitCode: EXIT.usage })
  }
  const { testOfLimits } = await import('../../trials/limits.ts')
  // The target may be a gateway of another machine, so the tool asks only the address in --admin for the limits.
  const place =
    options.url === undefined ? await askedPlace(options, command) : saidPlace(options, command)
  await testOfLimits(options, key, place)
}
