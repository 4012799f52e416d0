/** `gw tokens`: whether the gateway counts tokens as its upstreams do. */
import { Command } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface VerifyOptions extends PlaceOptions {
  readonly upstream: string
  readonly sample: string
  readonly output: Format
}

const verify = bareName(
  addPlace(
    new Command('verify')
      .description(
        'Compare counts of prompts by the gateway with those of an upstream; exits with 1 if they differ by more than 0.5 %.',
      )
      .requiredOption('--upstream <name>', 'name of the upstream')
      .option('--sample <count>', 'prompts to compare, at most 1000', '16'),
  ).addOption(formatOption()),
  '--upstream',
  verifyTokens,
)

export const tokens = endUsageWith64(
  new Command('tokens').description('Verify counts of tokens.').addCommand(verify),
)

async function verifyTokens(options: VerifyOptions, command: Command): Promise<void> {
  const { upstream, output } = options
  const sample = Number(options.sample)
  if (!Number.isInteger(sample) || sample < 1 || sample > 1000)
    command.error(
      `error: --sample ${JSON.stringify(options.sample)} is not a whole number from 1 to 1000`,
    )
  const { verifyTokens: run } = await import('../../trials/tokens.ts')
  await run({ upstream, sample, output }, await askedPlace(options, command))
}
