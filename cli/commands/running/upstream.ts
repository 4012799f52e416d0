/** `gw upstream`: tests whether the gateway reaches its upstreams, and takes them out for a time. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions, writtenPlace } from '../../asking/place.ts'
import { durationMs } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { endUsageWith64, printLine } from '../../printing/output.ts'

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

interface ResumeOptions extends PlaceOptions {
  readonly name: string
  readonly file?: string
  readonly output: Format
}

interface DrainOptions extends ResumeOptions {
  readonly for: number
}

const HOUR_MS = 3_600_000

const drain = bareName(
  addPlace(
    new Command('drain')
      .description(
        'Give an upstream no new requests for a time; running ones end, and it comes back by itself. ' +
          'Writes drained_until into the GatewayConfig or the file.',
      )
      .requiredOption('--name <name>', 'the upstream'),
  )
    .addOption(
      new Option('--for <time>', 'for how long').argParser(durationMs).default(HOUR_MS, '1h'),
    )
    .option('-f, --file <path>', 'configuration file of a stand-alone gateway')
    .addOption(formatOption()),
  '--name',
  drainUpstream,
)

const resume = bareName(
  addPlace(
    new Command('resume')
      .description('End the drain of an upstream now.')
      .requiredOption('--name <name>', 'the upstream'),
  )
    .option('-f, --file <path>', 'configuration file of a stand-alone gateway')
    .addOption(formatOption()),
  '--name',
  resumeUpstream,
)

export const upstream = endUsageWith64(
  new Command('upstream')
    .description('Test upstreams, and take them out for a time.')
    .addCommand(test)
    .addCommand(drain)
    .addCommand(resume),
)

async function drainUpstream(options: DrainOptions, command: Command): Promise<void> {
  const until = secondOf(Date.now() + options.for)
  await setDrain(options, until, `gets no new requests until ${until}`, command)
}

async function resumeUpstream(options: ResumeOptions, command: Command): Promise<void> {
  await setDrain(options, secondOf(Date.now()), 'gets requests again', command)
}

async function setDrain(
  { name, file, output, ...place }: ResumeOptions,
  until: string,
  text: string,
  command: Command,
): Promise<void> {
  const { drainUntil } = await import('../../upstreams/drain.ts')
  await drainUntil(name, until, file, writtenPlace(place, command))
  await printData(output, {
    value: { name, drained_until: until },
    names: [name],
    print: () => printLine(`${name} ${text}`),
  })
}

/** Whole seconds, because Kubernetes stores no fractions. */
function secondOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

async function testUpstreams(options: UpstreamTestOptions, command: Command): Promise<void> {
  const { name, output } = options
  // The option of the program has the same name, and takes the word.
  const { verbose = false } = command.optsWithGlobals<UpstreamTestOptions>()
  const { testUpstreams: run } = await import('../../trials/upstream.ts')
  await run({ name, verbose, output }, await askedPlace(options, command))
}
