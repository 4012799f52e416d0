/** `gw logs`: the log of gateways, readable for people. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { addCluster, clusterPlace, gatewayIn, type PlaceOptions } from '../../asking/place.ts'
import { commaList, durationMs, wholeNumber } from '../../option-values.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { EXIT, endUsageWith64 } from '../../printing/output.ts'

interface LogsOptions extends PlaceOptions {
  readonly file?: string
  readonly follow?: true
  readonly previous?: true
  readonly tail?: number
  readonly since?: number
  readonly tenant?: string
  readonly route?: string
  readonly status?: readonly string[]
  readonly requestId?: string
  readonly output: Format
}

const TAIL_MAX = 1_000_000
/** The number of lines that `tail -f` shows first. */
const TAIL_FOLLOWING = 10

export const logs = endUsageWith64(
  addCluster(
    new Command('logs')
      .description(
        'Print the JSON log of a gateway as readable lines: of all its pods, of a file, or of standard input.',
      )
      .argument('[gateway]', 'in a cluster: gwc/NAME', gatewayIn),
  )
    .option('--file <path>', 'file with the log of a stand-alone gateway; - reads standard input')
    .option('-f, --follow', 'follow until Ctrl-C, including pods that start later')
    .option('-p, --previous', 'in a cluster: the logs of the previous containers, after a crash')
    .option(
      '--tail <n>',
      'only the last lines of each pod or of the file, before filters; with -f without --since: 10',
      wholeNumber(0, TAIL_MAX),
    )
    .option('--since <time>', 'only lines newer than this, such as 10m', durationMs)
    .option('--tenant <name>', 'only requests of this tenant')
    .option('--route <name>', 'only requests on this route')
    .option('--status <list>', 'only requests with this status, such as 429 or 4xx,5xx', statuses)
    .addOption(
      new Option(
        '--request-id <id>',
        'only this request, by the id of the gateway or of the client',
      ),
    )
    .addOption(formatOption())
    .action(showLogs),
)

function statuses(text: string): readonly string[] {
  const all = commaList(text)
  if (all.every((one) => /^[1-5](\d\d|xx)$/.test(one))) return all
  throw new InvalidArgumentError('Give statuses such as 429, or classes such as 5xx.')
}

async function showLogs(name: string | undefined, options: LogsOptions, command: Command) {
  const { file, follow, previous = false, tail, since, output } = options
  const { tenant, route, status, requestId } = options
  const place =
    file === undefined ? clusterPlace({ ...options, ...(name && { gateway: name }) }) : undefined
  if (file !== undefined && (name ?? options.gateway ?? options.namespace) !== undefined)
    command.error('error: --file reads a file, not a cluster; remove one of the options', CODE)
  if (name !== undefined && options.gateway !== undefined)
    command.error('error: gwc/NAME and --gateway both name a gateway; give one', CODE)
  if (file === undefined && place === undefined && process.stdin.isTTY) command.error(ADVICE, CODE)
  if (previous && (follow || place === undefined))
    command.error(
      'error: --previous reads pods of a cluster; remove it, or remove -f and --file',
      CODE,
    )
  const follows = follow === true
  const first = follows && since === undefined ? TAIL_FOLLOWING : undefined
  const { logsOfFile, logsOfPods } = await import('../../logs/show.ts')
  const filter = { tenant, route, status, requestId }
  const asked = { follows, previous, tail: tail ?? first, sinceMs: since, filter, output }
  if (place !== undefined) return await logsOfPods(place, asked)
  const path = file ?? '-'
  // Standard input has an end, so the tool prints all of it.
  await logsOfFile(path, path === '-' ? { ...asked, tail } : asked)
}

const CODE = { exitCode: EXIT.usage }
const ADVICE =
  'error: a stand-alone gateway writes its log to standard output; pipe it to `gw logs`, or give a file with --file'
