/** The names that clients may send, from every gateway that is asked, as one list. */
import { z } from 'zod'
import { askEach, withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { type Painted, yesOrNo } from '../printing/colours.ts'
import { printRemark } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

const Upstream = z.object({ name: z.string(), eligible: z.boolean() })

const Model = z.looseObject({
  name: z.string(),
  kind: z.string(),
  route: z.string(),
  strategy: z.string(),
  context_window: z.number().optional(),
  deprecated: z
    .object({
      since: z.string(),
      until: z.string().optional(),
      successor: z.string().optional(),
    })
    .optional(),
  upstreams: z.array(Upstream),
})

export type Model = z.output<typeof Model>

export const Models = z.object({ models: z.array(Model) })

export async function askModels(place: Place): Promise<Model[]> {
  const { answers, silent } = await withGateways(place, (gateways) =>
    askEach(gateways, async ({ name, ask }) => {
      const { status, body } = await ask('/models')
      if (status === 200) return Models.parse(body).models
      throw new Error(`The gateway at ${name} answered with ${status}; is it older than this tool?`)
    }),
  )
  for (const why of silent) printRemark(`warning: ${why}`)
  return joined(answers)
}

/** Each pod judges upstreams separately; an upstream is eligible if all pods with it agree. */
export function joined(answers: readonly (readonly Model[])[]): Model[] {
  const all = new Map<string, Model>()
  for (const model of answers.flat()) {
    const seen = all.get(model.name)
    if (seen === undefined) {
      all.set(model.name, model)
      continue
    }
    const out = new Set(model.upstreams.filter((one) => !one.eligible).map((one) => one.name))
    const upstreams = seen.upstreams.map((one) =>
      out.has(one.name) ? { ...one, eligible: false } : one,
    )
    all.set(model.name, { ...seen, upstreams })
  }
  return [...all.values()]
}

export function printModels(models: readonly Model[], isWide: boolean): void {
  const head = ['NAME', 'KIND', 'ROUTE', 'STRATEGY', 'WINDOW', 'UPSTREAMS', 'ELIGIBLE']
  const hasEnds = models.some(({ deprecated }) => deprecated !== undefined)
  if (hasEnds) head.push('DEPRECATED')
  const rows = models.map(({ name, kind, route, strategy, context_window, ...model }) => [
    name,
    kind,
    kind === 'route' ? undefined : route,
    strategy,
    context_window,
    model.upstreams.map((one) => one.name).join(', '),
    eligibleOf(model.upstreams),
    ...(hasEnds ? [endOf(model.deprecated)] : []),
  ])
  printTable(head, rows, isWide, ['WINDOW', 'STRATEGY', 'KIND'])
}

function endOf(deprecated: Model['deprecated']): string | undefined {
  if (deprecated === undefined) return undefined
  const { since, until, successor } = deprecated
  const end = until === undefined ? `since ${since}` : `until ${until}`
  return successor === undefined ? end : `${end}, use ${successor}`
}

/** The names of the eligible upstreams, if not all are eligible. */
function eligibleOf(upstreams: Model['upstreams']): Painted {
  const names = upstreams.filter(({ eligible }) => eligible).map(({ name }) => name)
  if (names.length === 0 || names.length === upstreams.length) return yesOrNo(names.length > 0)
  return { text: names.join(', '), colour: 'yellow' }
}
