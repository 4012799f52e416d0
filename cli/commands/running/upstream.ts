/** `gw upstream`: tests whether the gateway reaches its upstreams and gets answers. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface UpstreamTestOptions extends PlaceOptions {
  readonly name?: string
  readonly all?: true
  readonly verbose?: true
  readonly output: Format
}

const test = bareName(
  addPlace(
    new Command('test')
      .description(
        'Probe upstreams through the gateway, and request a short answer from each; exits with 1 if one fails.',
      )
      .addOption(new Option('--name <name>', 'only this one').conflicts('all')),
  )
    .option('--all', 'all upstreams, the default without --name')
    .option('--verbose', 'show each step: the request, the status, the time')
    .addOption(formatOption()),
  '--name',
  testUpstreams,
  'all',
)

export const upstream = endUsageWith64(
  new Command('upstream').description('Test upstreams.').addCommand(test),
)

async function testUpstreams(options: UpstreamTestOptions, command: Command): Promise<void> {
  const { name, output } = options
  // The option of the program has the same name, and takes the word.
  const { verbose = false } = command.optsWithGlobals<UpstreamTestOptions>()
  const { testUpstreams: run } = await import('../../trials/upstream.ts')
  await run({ name, verbose, output }, await askedPlace(options, command))
}
