/** `gw explain`: what a running gateway would do now with a request. */
import { hash } from 'node:crypto'
import { Command, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { wholeNumber } from '../../option-values.ts'
import type { ExplainAnswer } from '../../printing/explanation.ts'
import {
  EXIT,
  endUsageWith64,
  type Format,
  formatOption,
  printLine,
  printRemark,
  printTable,
  printText,
  printValue,
} from '../../printing/output.ts'

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
  addPlace(
    new Command('explain').description(
      'Say what a running gateway would answer now to a request, and why: key, limits, upstreams.',
    ),
  )
    .requiredOption('--route <name>', 'route or alias, as in `model`')
    .option('--key <key>', 'key of the caller; only its hash is sent')
    .addOption(new Option('--tenant <name>', 'tenant of the caller').conflicts('key'))
    .option('--prompt-tokens <n>', 'tokens of its prompt', wholeNumber(1, TOKENS_MAX))
    .option('--max-tokens <n>', 'its `max_tokens`', wholeNumber(1, TOKENS_MAX))
    .addOption(
      new Option('--operation <name>', 'API that is asked (default: chat)').choices([
        'chat',
        'responses',
        'messages',
        'completions',
        'embeddings',
        'rerank',
        'transcription',
      ]),
    )
    .addOption(formatOption())
    .action(explainRequest),
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
  const { ExplainAnswer, ExplainRefusal, wordsOf } = await import('../../printing/explanation.ts')
  if (status === 404) {
    process.exitCode = EXIT.no
    const { error, verdict } = ExplainRefusal.parse(body)
    printRemark(`error: ${error.message}`)
    if (output !== 'table') return await printValue(body, output)
    return verdict === undefined ? undefined : printLine(wordsOf(verdict))
  }
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  const explanation = ExplainAnswer.parse(body)
  const { key, verdict } = explanation
  const answer = verdict ?? key
  if (answer !== undefined && answer.status !== 200) process.exitCode = EXIT.no
  if (output !== 'table') return await printValue(body, output)
  await printExplanation(explanation)
  if (verdict !== undefined) printLine(`\n${wordsOf(verdict)}`)
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

async function printExplanation(answer: ExplainAnswer): Promise<void> {
  const { text, key, upstreams, guardrails, estimates, limits } = answer
  printText(text)
  if (key !== undefined) {
    const name = key.id === undefined ? 'key' : `key ${key.id} of tenant ${key.tenant}`
    printLine(`\n${name}: ${key.status}, ${key.why}`)
  }
  if (upstreams !== undefined) {
    printLine('\nupstreams now')
    const { countedText, tokensLines } = await import('../../printing/tokens-text.ts')
    const rows = upstreams.map((one) => [
      one.name,
      one.eligible ? 'yes' : 'no',
      one.health,
      one.breaker,
      one.in_flight,
      one.queue,
      countedText(one),
    ])
    printTable(['NAME', 'ELIGIBLE', 'HEALTH', 'BREAKER', 'IN FLIGHT', 'QUEUE', 'TOKENS'], rows)
    const { breakerLines, endpointLines } = await import('../../printing/upstreams-text.ts')
    for (const line of endpointLines(upstreams)) printLine(line)
    for (const line of [...breakerLines(upstreams), ...tokensLines(upstreams)]) printLine(line)
  }
  const { printGuardrails } = await import('../../printing/auxiliaries.ts')
  printGuardrails(guardrails)
  const learnt = Object.entries(estimates ?? {}).map(
    ([kind, ratio = 1]) => `${ratio.toFixed(2)} (${kind})`,
  )
  if (learnt.length > 0) printLine(`\nestimated prompts count times ${learnt.join(', ')}`)
  if (limits === undefined) return
  const { printStanding } = await import('../../printing/limits-table.ts')
  printLine(`\nlimits of tenant ${limits.tenant} now`)
  printStanding(limits)
}
