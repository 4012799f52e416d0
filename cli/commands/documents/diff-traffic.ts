/** `gw diff --traffic`: sends recorded requests to another gateway and to this one, and compares the answers. */
import { type Command, Option } from 'commander'
import { keyOption, urlFlag } from '../../asking/client-options.ts'
import { urlOption } from '../../asking/connection.ts'
import { numberBetween, waitMs, wholeNumber } from '../../option-values.ts'
import { type Format, printData } from '../../printing/formats.ts'
import { EXIT } from '../../printing/output.ts'

export interface TrafficOptions {
  readonly traffic: string
  readonly from?: string
  readonly fromKey?: string
  readonly url?: string
  readonly key?: string
  readonly concurrency: number
  readonly tolerance: number
  readonly requestTimeout: number
  readonly output: Format
}

const MINUTE_MS = 60_000

export function addTraffic(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--traffic <path>',
        'compare answers instead: a file with a request in each line, ' +
          '{"path": "/v1/chat/completions", "body": {…}}; - reads standard input',
      ).conflicts('file'),
    )
    .addOption(
      new Option('--from <url>', 'address of the other gateway, for --traffic').argParser((text) =>
        urlOption(text, 'http://litellm:4000'),
      ),
    )
    .addOption(
      new Option('--from-key <key>', 'key at the other gateway; absent: --key').env('GW_FROM_KEY'),
    )
    .addOption(urlFlag())
    .addOption(keyOption('key of the requests'))
    .addOption(
      new Option('--concurrency <number>', 'requests at the same time')
        .argParser(wholeNumber(1, 64))
        .default(4),
    )
    .addOption(
      new Option('--tolerance <percent>', 'per cent by which tokens and cost may differ')
        .argParser(numberBetween(0, 100))
        .default(0),
    )
    .addOption(
      new Option('--request-timeout <time>', 'how long to wait for an answer')
        .argParser(waitMs)
        .default(MINUTE_MS, '60s'),
    )
}

export async function diffTraffic(options: TrafficOptions, command: Command): Promise<void> {
  const { traffic, from, url, key, fromKey = key, requestTimeout: timeoutMs, output } = options
  if (from === undefined || url === undefined)
    return command.error('error: --traffic needs --from, and --url or the variable GW_URL', {
      exitCode: EXIT.usage,
    })
  const { readWritten } = await import('../../apply/document.ts')
  const written = readWritten(traffic)
  if (written === undefined) return
  const { recordedRequests } = await import('../../traffic/recorded.ts')
  const { compareTraffic } = await import('../../traffic/compare.ts')
  const requests = recordedRequests(written.name, written.text)
  const compared = await compareTraffic(requests, {
    from: { url: from, key: fromKey, timeoutMs },
    to: { url, key, timeoutMs },
    concurrency: options.concurrency,
    tolerance: options.tolerance,
  })
  for (const [side, address] of [
    ['from', from],
    ['to', url],
  ] as const)
    if (compared.every((one) => one[side].status === 0))
      throw new Error(`No server answers at ${address} (${compared[0]?.[side].error}).`)
  const differing = compared.filter(({ differences }) => differences.length > 0)
  process.exitCode = differing.length > 0 ? EXIT.no : EXIT.ok
  const { printCompared } = await import('../../traffic/table.ts')
  const value = { from, to: url, requests: compared.length, differing: differing.length, compared }
  const names = differing.map(({ line }) => String(line))
  await printData(output, { value, names, print: (isWide) => printCompared(compared, isWide) })
}
