/** `gw explain`: what a running gateway would do now with a request. */
import { hash } from 'node:crypto'
import { Command, Option } from 'commander'
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
} from '../output.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../place.ts'

interface ExplainOptions extends PlaceOptions {
  readonly route: string
  readonly key?: string
  readonly tenant?: string
  readonly output: Format
}

export const explain = endUsageWith64(
  addPlace(
    new Command('explain').description(
      'Say what a running gateway would do now with a request: key, limits, upstreams.',
    ),
  )
    .requiredOption('--route <name>', 'route or alias, as in `model`')
    .option('--key <key>', 'key of the caller; only its hash is sent')
    .addOption(new Option('--tenant <name>', 'tenant of the caller').conflicts('key'))
    .addOption(formatOption())
    .action(explainRequest),
)

async function explainRequest(options: ExplainOptions, command: Command): Promise<void> {
  const { route, key, tenant, output } = options
  const query = new URLSearchParams({
    model: route,
    ...(key !== undefined && { key_hash: hash('sha256', key) }),
    ...(tenant !== undefined && { tenant }),
  })
  const { withDoors } = await import('../doors.ts')
  const { name, status, body } = await withDoors(
    await askedPlace(options, command),
    async ([door]) => {
      return { name: door.name, ...(await door.ask(`/explain?${query}`)) }
    },
  )
  const { Explanation, Refusal } = await import('../explanation.ts')
  if (status === 404) {
    process.exitCode = EXIT.no
    return printRemark(`error: ${Refusal.parse(body).error.message}`)
  }
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  const explanation = Explanation.parse(body)
  const verdict = explanation.key
  if (verdict !== undefined && verdict.status !== 200) process.exitCode = EXIT.no
  if (output !== 'table') return await printValue(body, output)
  printText(explanation.text)
  if (verdict !== undefined) {
    const name = verdict.id === undefined ? 'key' : `key ${verdict.id} of tenant ${verdict.tenant}`
    printLine(`\n${name}: ${verdict.status}, ${verdict.why}`)
  }
  if (explanation.upstreams !== undefined) {
    printLine('\nupstreams now')
    const rows = explanation.upstreams.map((one) => [
      one.name,
      one.eligible ? 'yes' : 'no',
      one.health,
      one.breaker,
      one.in_flight,
      one.queue,
    ])
    printTable(['NAME', 'ELIGIBLE', 'HEALTH', 'BREAKER', 'IN FLIGHT', 'QUEUE'], rows)
  }
  if (explanation.limits === undefined) return
  const { printStanding } = await import('../limits-table.ts')
  printLine(`\nlimits of tenant ${explanation.limits.tenant} now`)
  printStanding(explanation.limits)
}
