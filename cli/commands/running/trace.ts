/** `gw trace`: how the gateway handled a request, and why. */
import { Command, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { wholeNumber } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printRemark } from '../../printing/output.ts'

interface GetOptions extends PlaceOptions {
  readonly format?: 'tree' | 'json'
  readonly output: Format
}

interface ListOptions extends PlaceOptions {
  readonly limit: number
  readonly output: Format
}

const LIMIT = 20
const LIMIT_MAX = 100_000

const get = addPlace(
  new Command('get')
    .description('Show the decision on one request: each attempt, its timing, and refusals.')
    .argument('<request-id>', 'X-Request-Id of the answer'),
)
  .addOption(
    new Option('--format <format>', 'tree is `-o table`, json is `-o json`')
      .choices(['tree', 'json'])
      .conflicts('output'),
  )
  .addOption(formatOption())
  .action(getTrace)

const list = addPlace(new Command('list').description('List the last decisions, newest first.'))
  .option('--limit <n>', 'how many', wholeNumber(1, LIMIT_MAX), LIMIT)
  .addOption(formatOption())
  .action(listTraces)

export const trace = endUsageWith64(
  new Command('trace')
    .description('Show the decisions on requests.')
    .addCommand(get)
    .addCommand(list),
)

async function getTrace(id: string, options: GetOptions, command: Command): Promise<void> {
  const { askEach, withGateways } = await import('../../asking/asked-gateways.ts')
  const place = await askedPlace(options, command)
  const found = await withGateways(place, async (gateways) => {
    // Pods do not share traces, so the tool asks all of them.
    const { answers, silent } = await askEach(gateways, async (gateway) => {
      const answer = await gateway.ask(`/traces/${encodeURIComponent(id)}`)
      return { name: gateway.name, ...answer }
    })
    const known = answers.find(({ status }) => status === 200)
    // The pod that has the trace may be the one that does not answer.
    if (known === undefined && silent.length > 0) throw new Error(silent[0])
    return known
  })
  if (found === undefined) {
    process.exitCode = EXIT.no
    return printRemark(
      `error: No running gateway has a trace of request "${id.slice(0, 100)}"; only the latest traces are kept.`,
    )
  }
  const { TraceAnswer, printTree } = await import('../../traces/tree.ts')
  const trace = TraceAnswer.parse(found.body)
  const print = () => printTree(trace, place.kind === 'cluster' ? found.name : undefined)
  const output = options.format === 'json' ? 'json' : options.output
  await printData(output, { value: found.body, names: [trace.request_id], print })
}

async function listTraces(options: ListOptions, command: Command): Promise<void> {
  const { limit, output } = options
  const { askTraces, printTraces } = await import('../../traces/list.ts')
  const traces = await askTraces(await askedPlace(options, command), limit)
  await printData(output, {
    value: { traces },
    names: traces.map((one) => one.request_id),
    print: (isWide) => printTraces(traces, isWide),
  })
}
