/** The services beside the models in a gateway's status: guardrails, vector stores, and semantic classifiers. */
import { z } from 'zod'
import { state, yesOrNo } from './colours.ts'
import { printLine } from './output.ts'
import { printTable } from './tables/table.ts'
import { BREAKER, breakerLines } from './tables/upstreams-text.ts'

export const GuardrailStatus = z.looseObject({
  name: z.string(),
  stage: z.string(),
  on_error: z.string(),
  ...BREAKER,
})

export const VectorStoreStatus = z.looseObject({
  name: z.string(),
  provider: z.string(),
  collection: z.string(),
  embedding: z.looseObject({ upstream: z.string() }).optional(),
  tenant_field: z.string().optional(),
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
    guardrails.map(({ name, stage, on_error, breaker }) => [name, stage, on_error, state(breaker)]),
  )
  for (const line of breakerLines(guardrails)) printLine(line)
}

export function printVectorStores(stores: readonly z.output<typeof VectorStoreStatus>[]): void {
  if (stores.length === 0) return
  printLine('')
  printTable(
    ['VECTOR STORE', 'PROVIDER', 'COLLECTION', 'VECTORS FROM', 'TENANTS BY', 'BREAKER'],
    stores.map(({ name, provider, collection, embedding, tenant_field, breaker }) => [
      name,
      provider,
      collection,
      embedding?.upstream ?? '-',
      tenant_field ?? 'shared',
      state(breaker),
    ]),
  )
  for (const line of breakerLines(stores)) printLine(line)
}

export function printClassifiers(classifiers: readonly z.output<typeof ClassifierStatus>[]): void {
  if (classifiers.length === 0) return
  printLine('')
  printTable(
    ['SEMANTIC ROUTE', 'VECTORS FROM', 'READY', 'EXEMPLARS'],
    classifiers.map((one) => [
      one.route,
      one.upstream,
      yesOrNo(one.ready),
      `${one.embedded}/${one.exemplars}`,
    ]),
  )
  for (const { route, failure } of classifiers)
    if (failure) printLine(`exemplars of ${route}: ${failure}`)
}
