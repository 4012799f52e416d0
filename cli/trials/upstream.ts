/** `gw upstream test`: asks the gateway to try its upstreams, and shows the results. */
import { z } from 'zod'
import type { Place } from '../asking/place.ts'
import { paint, state } from '../printing/colours.ts'
import type { Format } from '../printing/formats.ts'
import { printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import { tryOut } from './trial.ts'

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

export const UpstreamsTrial = z.object({ upstreams: z.array(Test) })

/** The gateway tries upstreams one after the other, each with its own timeout. */
const TIMEOUT_MS = 600_000

export interface UpstreamTest {
  readonly name: string | undefined
  readonly verbose: boolean
  readonly output: Format
}

export async function testUpstreams({ name, verbose, output }: UpstreamTest, place: Place) {
  const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`
  const trial = {
    path: `/upstreams/test${query}`,
    asking: { method: 'POST', timeoutMs: TIMEOUT_MS } as const,
    what: 'upstreams are tested',
    output,
    read: (answered: unknown) => UpstreamsTrial.parse(answered).upstreams,
    isGood: (tests: readonly Test[]) => tests.every(({ ok }) => ok),
    namesOf: (tests: readonly Test[]) => tests.map((one) => one.name),
    print: verbose ? printAll : printSummary,
  }
  await tryOut(trial, place)
}

function printAll(tests: readonly Test[]): void {
  for (const [index, test] of tests.entries()) {
    if (index > 0) printLine('')
    printSteps(test)
  }
}

function printSummary(tests: readonly Test[], isWide: boolean): void {
  printTable(
    ['UPSTREAM', 'PROVIDER', 'RESULT', 'MS', 'WHY', ...(isWide ? ['MODEL', 'ENDPOINT'] : [])],
    tests.map(({ name, provider, ok, steps, disabled, model, endpoint }) => [
      name,
      provider,
      state(ok ? 'ok' : 'failed'),
      steps.reduce((sum, { ms }) => sum + ms, 0),
      disabled ?? whyOf(steps.find((step) => !step.ok)),
      model,
      endpoint,
    ]),
    isWide,
    ['MS', 'PROVIDER'],
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
