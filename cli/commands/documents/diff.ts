/** `gw diff`: what applying a file would change, without changing it. */
import { Command } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, type PlaceOptions, placeOf } from '../../asking/place.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine } from '../../printing/output.ts'

interface DiffOptions extends PlaceOptions {
  readonly file: string
  readonly output: Format
}

export const diff = endUsageWith64(
  bareName(
    addPlace(
      new Command('diff')
        .description('Show what applying a file would change; exits with 1 if anything differs.')
        .requiredOption('-f, --file <path>', 'configuration file; - reads standard input'),
    ).addOption(formatOption()),
    '--file',
    diffFile,
  ),
)

async function diffFile(options: DiffOptions, command: Command): Promise<void> {
  const place = await placeOf(options, command)
  const { readWritten } = await import('../../apply/document.ts')
  const written = readWritten(options.file)
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
