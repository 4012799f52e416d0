/** The services beside the models in a gateway's status: guardrails, and the classifiers that judge by meaning. */
import { z } from 'zod'
import { BREAKER, breakerLines } from './breakers-text.ts'
import { printLine, printTable } from './output.ts'

export const GuardrailStatus = z.looseObject({
  name: z.string(),
  stage: z.string(),
  on_error: z.string(),
  ...BREAKER,
})

export const ClassifierStatus = z.looseObject({
  route: z.string(),
  upstream: z.string(),
  ready: z.boolean(),
  exemplars: z.number(),
  embedded: z.number(),
  failure: z.string().nullish(),
})

export function printGuardrails(guardrails: readonly z.output<typeof GuardrailStatus>[]): void {
  if (guardrails.length === 0) return
  printLine('')
  printTable(
    ['GUARDRAIL', 'STAGE', 'ON ERROR', 'BREAKER'],
    guardrails.map(({ name, stage, on_error, breaker }) => [name, stage, on_error, breaker]),
  )
  for (const line of breakerLines(guardrails)) printLine(line)
}

export function printClassifiers(classifiers: readonly z.output<typeof ClassifierStatus>[]): void {
  if (classifiers.length === 0) return
  printLine('')
  printTable(
    ['SEMANTIC ROUTE', 'VECTORS FROM', 'READY', 'EXEMPLARS'],
    classifiers.map((one) => [
      one.route,
      one.upstream,
      one.ready ? 'yes' : 'no',
      `${one.embedded}/${one.exemplars}`,
    ]),
  )
  for (const { route, failure } of classifiers)
    if (failure) printLine(`exemplars of ${route}: ${failure}`)
}
