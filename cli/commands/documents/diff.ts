/** `gw diff`: what applying a file would change, without changing it. */
import { Command } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, type PlaceOptions, placeOf } from '../../asking/place.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine } from '../../printing/output.ts'
import { addTraffic, diffTraffic, type TrafficOptions } from './diff-traffic.ts'

interface DiffOptions
  extends PlaceOptions,
    Omit<TrafficOptions, 'traffic' | 'output' | 'url' | 'key'> {
  readonly file?: string
  readonly traffic?: string
  readonly url?: string
  readonly key?: string
  readonly output: Format
}

const FORM = `
Each line of the file of --traffic is an object with path, body, and method if it is GET. Keys are never in it.`

export const diff = endUsageWith64(
  bareName(
    addTraffic(
      addPlace(
        new Command('diff')
          .description(
            'Show what applying a file would change, or how answers differ from those of another gateway; ' +
              'exits with 1 if anything differs.',
          )
          .option('-f, --file <path>', 'configuration file; - reads standard input'),
      ),
    )
      .addOption(formatOption())
      .addHelpText('after', FORM),
    '--file',
    diffEither,
    'traffic',
  ),
)

async function diffEither(options: DiffOptions, command: Command): Promise<void> {
  const { file, traffic } = options
  if (traffic !== undefined) return await diffTraffic({ ...options, traffic }, command)
  if (file === undefined)
    return command.error("error: required option '-f, --file <path>' not specified", {
      exitCode: EXIT.usage,
    })
  await diffFile(file, options, command)
}

async function diffFile(file: string, options: DiffOptions, command: Command): Promise<void> {
  const place = await placeOf(options, command)
  const { readWritten } = await import('../../apply/document.ts')
  const written = readWritten(file)
  if (written === undefined) return
  const { differencesOf } = await import('../../apply/difference.ts')
  const differences = await differencesOf(written, place)
  if (differences === undefined) return
  if (differences.length > 0) process.exitCode = EXIT.no
  const { printDifferences } = await import('../../printing/differences-text.ts')
  const print = () => {
    printDifferences(differences)
    if (differences.length === 0) printLine(`${written.name}: nothing differs`)
  }
  const names = differences.map(({ path }) => path)
  await printData(options.output, { value: { differences }, names, print })
}
