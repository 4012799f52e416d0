/** `gw diff`: what applying a file would change, without changing it. */
import { Command } from 'commander'
import { addPlace, type PlaceOptions, placeOf } from '../../asking/place.ts'
import { EXIT, endUsageWith64, type Format, formatOption } from '../../printing/output.ts'

interface DiffOptions extends PlaceOptions {
  readonly file: string
  readonly output: Format
}

export const diff = endUsageWith64(
  addPlace(
    new Command('diff')
      .description('Show what applying a file would change; ends with 1 if anything differs.')
      .requiredOption('-f, --file <path>', 'configuration file; - reads standard input'),
  )
    .addOption(formatOption())
    .action(diffFile),
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
  const { printLine, printValue } = await import('../../printing/output.ts')
  if (options.output !== 'table') return await printValue({ differences }, options.output)
  const { printDifferences } = await import('../../printing/differences-text.ts')
  printDifferences(differences)
  if (differences.length === 0) printLine(`${written.name}: nothing differs`)
}
