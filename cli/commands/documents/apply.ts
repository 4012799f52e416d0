/** `gw apply`: puts a configuration file into force, in a cluster or in a running stand-alone gateway. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import {
  addPlace,
  type Place,
  type PlaceOptions,
  placeOf,
  writtenPlace,
} from '../../asking/place.ts'
import { durationMs, waitMs } from '../../option-values.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64, printRemark } from '../../printing/output.ts'

interface ApplyOptions extends PlaceOptions {
  readonly file: string
  readonly reload?: true
  readonly verify?: true
  readonly strategy?: 'rolling'
  readonly drainTimeout?: number
  readonly wait: 'true' | 'false'
  readonly timeout: number
  readonly forceConflicts?: true
  readonly yes?: true
  readonly dryRun?: 'client' | 'server'
  readonly output: Format
}

const FIVE_MINUTES_MS = 300_000

export const apply = endUsageWith64(
  bareName(
    addPlace(
      new Command('apply')
        .description('Apply a configuration file, and wait until every pod enforces it.')
        .requiredOption('-f, --file <path>', 'configuration file; - reads standard input'),
    )
      .option('--reload', 'refuse if more than rate limits, budgets, pricing and keys would change')
      .option(
        '--verify',
        'as if every route had verify: true, and wait until each answers; exits with 1 if one does not',
      )
      .addOption(
        new Option(
          '--strategy <name>',
          'how pods are replaced if the change needs new pods',
        ).choices(['rolling']),
      )
      .addOption(
        new Option('--drain-timeout <time>', 'time for requests to finish when a pod ends')
          .argParser(durationMs)
          .conflicts('reload'),
      )
      .addOption(
        new Option('--wait <yes>', 'wait for the pods').choices(['true', 'false']).default('true'),
      )
      .addOption(
        new Option('--timeout <time>', 'how long to wait')
          .argParser(waitMs)
          .default(FIVE_MINUTES_MS, '5m'),
      )
      .option('-y, --yes', 'do not ask before keys, routes or budgets are removed')
      .addOption(
        new Option(
          '--dry-run <by>',
          'change nothing: client checks the file here, server also shows what would change',
        ).choices(['client', 'server']),
      )
      .option('--force-conflicts', 'take over fields that another manager owns')
      .addOption(formatOption()),
    '--file',
    applyFile,
  ),
)

async function applyFile(options: ApplyOptions, command: Command): Promise<void> {
  const { file, dryRun } = options
  const place =
    dryRun === 'client' ? placeUnasked(options, command) : await placeOf(options, command)
  if (dryRun !== undefined) {
    const { readWritten } = await import('../../apply/document.ts')
    const { rehearse } = await import('../../apply/dry-run.ts')
    const written = readWritten(file)
    if (written === undefined) return
    return await rehearse(written, place, { by: dryRun, output: options.output })
  }
  const yes = options.yes === true
  const { reload, drainTimeout, wait, timeout, forceConflicts, output } = options
  const { readWritten } = await import('../../apply/document.ts')
  const { withVerification } = await import('../../apply/verify.ts')
  const { printVerified } = await import('../../status/verified-wait.ts')
  const verify = options.verify === true
  if (place.kind === 'stand-alone') {
    if (drainTimeout !== undefined)
      printRemark('--drain-timeout is for pods that end: this gateway goes on, and drains nothing.')
    const { applyToGateway } = await import('../../apply/stand-alone.ts')
    const written = readWritten(file)
    if (written === undefined) return
    await applyToGateway(verify ? withVerification(written) : written, place, {
      onlyLimits: reload === true,
      path: file,
      yes,
      output,
    })
    return verify && process.exitCode === undefined
      ? await printVerified(place, timeout)
      : undefined
  }
  const { applyToCluster } = await import('../../apply/cluster.ts')
  const written = readWritten(file)
  if (written === undefined) return
  await applyToCluster(verify ? withVerification(written) : written, place, {
    onlyLimits: reload === true,
    drainSeconds: drainTimeout === undefined ? undefined : Math.ceil(drainTimeout / 1000),
    force: forceConflicts === true,
    yes,
    wait: wait === 'true',
    timeoutMs: timeout,
    output,
  })
  if (verify && wait === 'true' && process.exitCode === undefined)
    await printVerified(place, timeout)
}

/** A check of this tool needs no gateway that answers. */
function placeUnasked(options: ApplyOptions, command: Command): Place {
  return writtenPlace(options, command) ?? { kind: 'stand-alone', admin: '' }
}
