/** `gw context`: the context that the gateway sent with a request. */
import { Command } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printRemark } from '../../printing/output.ts'

interface InspectOptions extends PlaceOptions {
  readonly requestId: string
  readonly output: Format
}

const inspect = bareName(
  addPlace(
    new Command('inspect')
      .description(
        'Show the tokens of a prompt, the room in the context window, and the passages that were kept or omitted; ' +
          'with their texts if the route has trace.keep_texts.',
      )
      .requiredOption('--request-id <id>', 'X-Request-Id of the answer'),
  ).addOption(formatOption()),
  '--request-id',
  inspectContext,
)

export const context = endUsageWith64(
  new Command('context')
    .description('Inspect the context that the gateway sent with a request.')
    .addCommand(inspect),
)

async function inspectContext(options: InspectOptions, command: Command): Promise<void> {
  const { requestId: id, output } = options
  const { askEach, withGateways } = await import('../../asking/asked-gateways.ts')
  // Pods do not share traces, so the tool asks all of them.
  const found = await withGateways(await askedPlace(options, command), async (gateways) => {
    const { answers, silent } = await askEach(gateways, (gateway) =>
      gateway.ask(`/context/${encodeURIComponent(id)}`),
    )
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
  const { ContextAnswer, printContext } = await import('../../trials/context-answer.ts')
  const answer = ContextAnswer.parse(found.body)
  const print = () => printContext(answer)
  await printData(output, { value: found.body, names: [answer.request_id], print })
}
