/** `gw upstream test`: asks the gateway to try its upstreams, and shows what came of it. */
import { z } from 'zod'
import { withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import {
  EXIT,
  type Format,
  paint,
  printLine,
  printRemark,
  printTable,
  printValue,
  telling,
} from '../printing/output.ts'

const Step = z.looseObject({
  step: z.string(),
  ok: z.boolean(),
  ms: z.number(),
  asked: z.string(),
  status: z.number().optional(),
  tokens: z.number().optional(),
  failure: z.looseObject({ class: z.string(), message: z.string() }).optional(),
})

const Test = z.looseObject({
  name: z.string(),
  provider: z.string(),
  endpoint: z.string(),
  model: z.string(),
  ok: z.boolean(),
  disabled: z.string().optional(),
  steps: z.array(Step),
})

type Test = z.output<typeof Test>

const Answer = z.object({ upstreams: z.array(Test) })
const Refusal = z.object({ error: z.object({ message: z.string() }) })

/** Upstreams are asked in turns, each with its own time. */
const TIMEOUT_MS = 600_000

export interface UpstreamTest {
  readonly name: string | undefined
  readonly verbose: boolean
  readonly output: Format
}

export async function testUpstreams({ name, verbose, output }: UpstreamTest, place: Place) {
  const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`
  const { status, body, gateway } = await withGateways(place, async ([first]) => {
    const asking = { method: 'POST', timeoutMs: TIMEOUT_MS } as const
    const answer = first.ask(`/upstreams/test${query}`, asking)
    return {
      gateway: first.name,
      ...(await telling(`upstreams are tested at ${first.name}`, answer)),
    }
  })
  if (status === 404) {
    process.exitCode = EXIT.no
    return printRemark(`error: ${Refusal.parse(body).error.message}`)
  }
  if (status !== 200) throw new Error(`The gateway at ${gateway} answered with ${status}.`)
  const { upstreams } = Answer.parse(body)
  if (!upstreams.every(({ ok }) => ok)) process.exitCode = EXIT.no
  if (output !== 'table') return await printValue(body, output)
  if (!verbose) return printSummary(upstreams)
  for (const [index, test] of upstreams.entries()) {
    if (index > 0) printLine('')
    printSteps(test)
  }
}

function printSummary(tests: readonly Test[]): void {
  printTable(
    ['UPSTREAM', 'PROVIDER', 'RESULT', 'MS', 'WHY'],
    tests.map(({ name, provider, ok, steps, disabled }) => [
      name,
      provider,
      ok ? 'ok' : 'failed',
      steps.reduce((sum, { ms }) => sum + ms, 0),
      disabled ?? whyOf(steps.find((step) => !step.ok)),
    ]),
  )
}

function printSteps({ name, provider, model, ok, steps, disabled }: Test): void {
  const verdict = paint(ok ? 'ok' : 'failed', ok ? 'green' : 'red', process.stdout)
  printLine(`${name} (${provider}, model ${model}): ${verdict}`)
  if (disabled !== undefined) printLine(`  disabled: ${disabled}`)
  for (const step of steps) {
    const status = step.status === undefined ? '' : ` ${step.status}`
    const tokens = step.tokens === undefined ? '' : `, ${step.tokens} tokens`
    printLine(`  ${step.step}: ${step.ok ? 'ok' : 'failed'}${status} in ${step.ms} ms${tokens}`)
    printLine(`    ${step.asked}`)
    if (!step.ok) printLine(`    ${whyOf(step)}`)
  }
}

function whyOf(step: Test['steps'][number] | undefined): string | undefined {
  return step?.failure && `${step.step}: ${step.failure.class}: ${step.failure.message}`
}
