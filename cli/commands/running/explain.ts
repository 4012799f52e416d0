/** `gw explain`: how a running gateway would handle a request now. */
import { hash } from 'node:crypto'
import { Command, Option } from 'commander'
import { OPERATIONS } from '../../../dataplane/admin/asked-operations.ts'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { wholeNumber } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine, printRemark } from '../../printing/output.ts'

interface ExplainOptions extends PlaceOptions {
  readonly route: string
  readonly key?: string
  readonly tenant?: string
  readonly promptTokens?: number
  readonly maxTokens?: number
  readonly operation?: string
  readonly output: Format
}

const TOKENS_MAX = 100_000_000

export const explain = endUsageWith64(
  bareName(
    addPlace(
      new Command('explain').description(
        'Show what a running gateway would answer to a request now, and why: key, limits, upstreams.',
      ),
    )
      .requiredOption('--route <name>', 'route or alias, as in `model`')
      .option('--key <key>', 'key of the caller; only its hash is sent')
      .addOption(new Option('--tenant <name>', 'tenant of the caller').conflicts('key'))
      .option('--prompt-tokens <n>', 'tokens of the prompt', wholeNumber(1, TOKENS_MAX))
      .option('--max-tokens <n>', '`max_tokens` of the request', wholeNumber(1, TOKENS_MAX))
      .addOption(
        new Option('--operation <name>', 'API of the request (default: chat)').choices(OPERATIONS),
      )
      .addOption(formatOption()),
    '--route',
    explainRequest,
  ),
)

async function explainRequest(options: ExplainOptions, command: Command): Promise<void> {
  const { output } = options
  const query = queryOf(options)
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const { name, status, body } = await withGateways(
    await askedPlace(options, command),
    async ([gateway]) => {
      return { name: gateway.name, ...(await gateway.ask(`/explain?${query}`)) }
    },
  )
  const { ExplainAnswer, ExplainRefusal, printExplanation, wordsOf } = await import(
    '../../printing/tables/explanation.ts'
  )
  if (status === 404) {
    process.exitCode = EXIT.no
    const { error, verdict } = ExplainRefusal.parse(body)
    printRemark(`error: ${error.message}`)
    const print = () => (verdict === undefined ? undefined : printLine(wordsOf(verdict)))
    return await printData(output, { value: body, names: [], print })
  }
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  const explanation = ExplainAnswer.parse(body)
  const { key, verdict } = explanation
  const answer = verdict ?? key
  if (answer !== undefined && answer.status !== 200) process.exitCode = EXIT.no
  const names = (explanation.upstreams ?? []).map((one) => one.name)
  const print = (isWide: boolean) => printExplanation(explanation, isWide)
  await printData(output, { value: body, names, print })
}

function queryOf(options: ExplainOptions) {
  const { route, key, tenant, promptTokens, maxTokens, operation } = options
  return new URLSearchParams({
    model: route,
    ...(key !== undefined && { key_hash: hash('sha256', key) }),
    ...(tenant !== undefined && { tenant }),
    ...(promptTokens !== undefined && { prompt_tokens: String(promptTokens) }),
    ...(maxTokens !== undefined && { max_tokens: String(maxTokens) }),
    ...(operation !== undefined && { operation }),
  })
}
