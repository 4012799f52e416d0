/** `gw gateway`: whether routes lead to an answer, also when an upstream fails. */
import { Command, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface TestOptions extends PlaceOptions {
  readonly route?: string
  readonly allRoutes?: true
  readonly simulateFailure?: 'primary'
  readonly simulateRateLimit?: true
  readonly output: Format
}

const test = addPlace(
  new Command('test')
    .description(
      'Follow a short request on routes, past limits and budgets; ends with 1 if one gets no answer.',
    )
    .addOption(new Option('--route <name>', 'route or alias').conflicts('allRoutes')),
)
  .option('--all-routes', 'each route, which is also what is done without a name')
  .addOption(
    new Option('--simulate-failure <which>', 'as if the first upstream answered 500')
      .choices(['primary'])
      .conflicts('simulateRateLimit'),
  )
  .option('--simulate-rate-limit', 'as if the first upstream answered 429')
  .addOption(formatOption())
  .action(testRoutes)

export const gateway = endUsageWith64(
  new Command('gateway').description('Test routes.').addCommand(test),
)

async function testRoutes(options: TestOptions, command: Command): Promise<void> {
  const { route, simulateFailure, simulateRateLimit, output } = options
  const { testRoutes: run } = await import('../../trials/route.ts')
  const fail = simulateRateLimit ? 'rate_limited' : simulateFailure && 'server'
  await run({ route, fail, output }, await askedPlace(options, command))
}
