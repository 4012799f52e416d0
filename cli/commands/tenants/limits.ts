/** `gw limits`: a tenant's use of its limits, and whether a limit holds under load. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { keyOption, routeOption, urlFlag } from '../../asking/client-options.ts'
import { addPlace, askedPlace, type PlaceOptions, saidPlace } from '../../asking/place.ts'
import { numberBetween, waitMs } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine, printRemark } from '../../printing/output.ts'
import type { LimitsTest } from '../../trials/limits.ts'

interface ShowOptions extends PlaceOptions {
  readonly tenant?: string
  readonly key?: string
  readonly user?: string
  readonly limit?: string
  readonly output: Format
}

interface LimitsTestOptions extends PlaceOptions, LimitsTest {
  readonly key?: string
}

const RATE_MAX = 600_000

const show = bareName(
  addPlace(
    new Command('show')
      .description(
        'Show every limit of a tenant: the amounts used, reserved and left, and the time of the reset. With --key, --user or ' +
          '--limit, show counters of limits[]; several of them narrow the answer.',
      )
      .option('--tenant <name>', 'tenant that a key, a rule or a budget names')
      .option('--key <id>', 'counters of the key with this id')
      .option('--user <name>', 'counters of the end user with this name')
      .option('--limit <name>', 'counters of the entry of limits[] with this name'),
  ).addOption(formatOption()),
  '--tenant',
  showLimits,
)

const test = bareName(
  addPlace(
    new Command('test')
      .description(
        'Send real requests of a tenant at a rate, and check that its limit holds. With --url, --admin names ' +
          'the gateway that knows the limit; otherwise the tool assumes a burst.',
      )
      .requiredOption('--tenant <name>', 'tenant whose limit is tested')
      .requiredOption('--rate <rpm>', 'requests a minute', numberBetween(1, RATE_MAX))
      .requiredOption('--duration <time>', 'duration of the test, such as 30s', waitMs),
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
    .addOption(formatOption()),
  '--tenant',
  testLimits,
)

export const limits = endUsageWith64(
  new Command('limits')
    .description('Show what tenants have used of their limits, and test the limits.')
    .addCommand(show)
    .addCommand(test),
)

async function showLimits(options: ShowOptions, command: Command): Promise<void> {
  const { output } = options
  const asked = questionOf(options)
  if (asked === undefined) {
    const message = 'error: give a tenant, --key, --user or --limit'
    return command.error(message, { exitCode: EXIT.usage })
  }
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const place = await askedPlace(options, command)
  const { TenantLimits, Unknown, printStanding } = await import(
    '../../printing/tables/limits-table.ts'
  )
  const { name, status, body } = await withGateways(place, async ([gateway]) => {
    const answer = await gateway.ask(asked.path)
    return { name: gateway.name, ...answer }
  })
  if (status === 404) {
    process.exitCode = EXIT.no
    return printRemark(`error: ${Unknown.parse(body).error.message}`)
  }
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  const standing = TenantLimits.parse({ tenant: '', ...(body as object) })
  const names = Object.keys(standing).filter((limit) => limit !== 'tenant')
  const print = (isWide: boolean) => {
    printLine(`${asked.shown}${place.kind === 'cluster' ? `, as pod ${name} sees it` : ''}\n`)
    printStanding(standing, isWide)
  }
  await printData(output, { value: body, names, print })
}

/** The question to the gateway; undefined if no option names anything. */
function questionOf({ tenant, key, user, limit }: ShowOptions) {
  const given = Object.entries({ limit, tenant, key, user }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  const [first] = given
  if (first === undefined) return undefined
  const shown = given.map((one) => one.join(' ')).join(', ')
  const isTenantAlone = given.length === 1 && tenant !== undefined
  const path = isTenantAlone
    ? `/limits/${encodeURIComponent(tenant)}`
    : `/limit-counters?${new URLSearchParams(given.map(([name, value]) => [name, value]))}`
  return { path, shown }
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
