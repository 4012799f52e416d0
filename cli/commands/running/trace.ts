/** `gw trace`: what was decided about a request, and why. */
import { Command, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { wholeNumber } from '../../option-values.ts'
import {
  EXIT,
  endUsageWith64,
  type Format,
  formatOption,
  printLine,
  printRemark,
  printTable,
  printValue,
} from '../../printing/output.ts'

interface GetOptions extends PlaceOptions {
  readonly format: 'tree' | 'json'
}

interface ListOptions extends PlaceOptions {
  readonly limit: number
  readonly output: Format
}

const LIMIT = 20
const LIMIT_MAX = 100_000

const get = addPlace(
  new Command('get')
    .description('Show the decision on one request: each attempt, its timing, what was refused.')
    .argument('<request-id>', 'X-Request-Id of the answer'),
)
  .addOption(
    new Option('--format <format>', 'how to print').choices(['tree', 'json']).default('tree'),
  )
  .action(getTrace)

const list = addPlace(new Command('list').description('List the last decisions, newest first.'))
  .option('--limit <n>', 'how many', wholeNumber(1, LIMIT_MAX), LIMIT)
  .addOption(formatOption())
  .action(listTraces)

export const trace = endUsageWith64(
  new Command('trace')
    .description('Show how requests were decided.')
    .addCommand(get)
    .addCommand(list),
)

async function getTrace(id: string, options: GetOptions, command: Command): Promise<void> {
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const place = await askedPlace(options, command)
  const found = await withGateways(place, async (gateways) => {
    // Pods do not know of each other, so all are asked.
    const answers = await Promise.all(
      gateways.map(async (gateway) => {
        const answer = await gateway.ask(`/traces/${encodeURIComponent(id)}`)
        return { name: gateway.name, ...answer }
      }),
    )
    return answers.find(({ status }) => status === 200)
  })
  if (found === undefined) {
    process.exitCode = EXIT.no
    return printRemark(
      `error: No gateway that runs now knows request "${id.slice(0, 100)}"; only the last ones are kept.`,
    )
  }
  if (options.format === 'json') return await printValue(found.body, 'json')
  const { TraceAnswer, printTree } = await import('../../printing/trace-tree.ts')
  printTree(TraceAnswer.parse(found.body), place.kind === 'cluster' ? found.name : undefined)
}

async function listTraces(options: ListOptions, command: Command): Promise<void> {
  const { limit, output } = options
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const { TraceAnswer } = await import('../../printing/trace-tree.ts')
  const { z } = await import('zod')
  const Listing = z.object({ traces: z.array(TraceAnswer) })
  const all = await withGateways(await askedPlace(options, command), (gateways) =>
    Promise.all(
      gateways.map(async (gateway) => {
        const { body } = await gateway.ask(`/traces?limit=${limit}`)
        return Listing.parse(body).traces
      }),
    ),
  )
  const traces = all
    .flat()
    .sort((one, other) => (one.time < other.time ? 1 : -1))
    .slice(0, limit)
  if (output !== 'table') return await printValue({ traces }, output)
  if (traces.length === 0) return printLine('No request has been decided yet.')
  printTable(
    ['REQUEST', 'TIME', 'STATUS', 'CODE', 'TENANT', 'ROUTE', 'UPSTREAM', 'ATTEMPTS', 'MS'],
    traces.map((one) => [
      one.request_id,
      one.time,
      one.status,
      one.code,
      one.tenant,
      one.route,
      one.upstream,
      one.attempts.length,
      Math.round(one.duration_ms),
    ]),
  )
}
