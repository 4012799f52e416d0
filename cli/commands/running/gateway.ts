/** `gw gateway`: tests whether routes give an answer, even if an upstream fails. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface GatewayTestOptions extends PlaceOptions {
  readonly route?: string
  readonly allRoutes?: true
  readonly simulateFailure?: 'primary'
  readonly simulateRateLimit?: true
  readonly output: Format
}

const test = bareName(
  addPlace(
    new Command('test')
      .description(
        'Send a short request on routes, exempt from limits and budgets; exits with 1 if one gets no answer.',
      )
      .addOption(new Option('--route <name>', 'route or alias').conflicts('allRoutes')),
  )
    .option('--all-routes', 'every route, the default without --route')
    .addOption(
      new Option('--simulate-failure <which>', 'pretend that the first upstream answered 500')
        .choices(['primary'])
        .conflicts('simulateRateLimit'),
    )
    .option('--simulate-rate-limit', 'pretend that the first upstream answered 429')
    .addOption(formatOption()),
  '--route',
  testRoutes,
  'allRoutes',
)

export const gateway = endUsageWith64(
  new Command('gateway').description('Test routes.').addCommand(test),
)

async function testRoutes(options: GatewayTestOptions, command: Command): Promise<void> {
  const { route, simulateFailure, simulateRateLimit, output } = options
  const { testRoutes: run } = await import('../../trials/route.ts')
  const fail = simulateRateLimit ? 'rate_limited' : simulateFailure && 'server'
  await run({ route, fail, output }, await askedPlace(options, command))
}
