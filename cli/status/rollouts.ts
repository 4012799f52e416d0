/** The rollouts and the shadows of routes, from every gateway that is asked. */
import { z } from 'zod'
import { type AskedGateway, askEach, withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import type { Colour, Painted } from '../printing/colours.ts'
import { AnswerIsNo, printRemark } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

const Rollout = z.looseObject({
  route: z.string(),
  to: z.string(),
  phase: z.enum(['running', 'paused', 'back', 'aborted', 'complete']),
  share: z.number().describe('percent of the requests'),
  step: z.number(),
  steps: z.array(z.number()),
  ran_seconds: z.number(),
  every_seconds: z.number(),
  requests: z.number().describe('finished at the new upstream in this step'),
  requests_needed: z.number(),
  compared: z.array(z.object({ measure: z.string(), standing: z.string(), text: z.string() })),
  changed_at: z.string(),
  reason: z.string(),
})

export type Rollout = z.output<typeof Rollout>

export const Rollouts = z.object({ rollouts: z.array(Rollout) })

const Answers = z.looseObject({
  answers: z.number(),
  failed: z.number(),
  mean_completion_tokens: z.number().optional(),
  mean_bytes: z.number().optional(),
  first_p50_ms: z.number().optional(),
  first_p95_ms: z.number().optional(),
})

const Shadow = z.looseObject({
  route: z.string(),
  upstream: z.string(),
  percent: z.number(),
  tenant: z.string(),
  copies: z.record(z.string(), z.number()).describe('by what became of them'),
  differences: z.record(z.string(), z.number()).describe('answers by what differs'),
  real: Answers,
  shadow: Answers,
  last: z.array(z.looseObject({})).describe('the last answers that differ, newest first'),
})

export type Shadow = z.output<typeof Shadow>

export const Shadows = z.object({
  shadows: z.array(Shadow.extend({ gateway: z.string().describe('which gateway or pod') })),
})

const Refusal = z.object({ error: z.object({ message: z.string() }) })

/** Without a shared store, each pod has another state, and each is listed. */
export async function askRollouts(place: Place): Promise<Rollout[]> {
  const found = await askAll(place, '/rollouts', (body) => Rollouts.parse(body).rollouts)
  const all = new Map<string, Rollout>()
  for (const { answer } of found)
    for (const one of answer) all.set(`${one.route} ${one.phase} ${one.share}`, one)
  return [...all.values()]
}

export async function actOnRollout(
  place: Place,
  route: string,
  action: string,
): Promise<Rollout[]> {
  const path = `/rollouts/${encodeURIComponent(route)}?action=${action}`
  const { answers, silent } = await withGateways(place, (gateways) =>
    askEach(gateways, async ({ ask }) => {
      const { status, body } = await ask(path, { method: 'POST' })
      if (status === 200) return Rollout.parse(body)
      throw new AnswerIsNo(Refusal.parse(body).error.message)
    }),
  )
  for (const why of silent) printRemark(`warning: ${why}`)
  return answers.slice(0, 1)
}

export async function askShadows(place: Place): Promise<z.output<typeof Shadows>['shadows']> {
  const one = z.object({ shadows: z.array(Shadow) })
  const found = await askAll(place, '/shadows', (body) => one.parse(body).shadows)
  return found.flatMap(({ name, answer }) => answer.map((shadow) => ({ gateway: name, ...shadow })))
}

async function askAll<T>(place: Place, path: string, read: (body: unknown) => T) {
  const { answers, silent } = await withGateways(place, (gateways) =>
    askEach(gateways, async ({ name, ask }: AskedGateway) => {
      const { status, body } = await ask(path)
      if (status === 200) return { name, answer: read(body) }
      throw new Error(`The gateway at ${name} answered with ${status}; is it older than this tool?`)
    }),
  )
  for (const why of silent) printRemark(`warning: ${why}`)
  return answers
}

export function printRollouts(rollouts: readonly Rollout[]): void {
  const head = ['ROUTE', 'TO', 'PHASE', 'SHARE', 'STEP', 'REQUESTS', 'SINCE', 'REASON']
  const rows = rollouts.map((one) => [
    one.route,
    one.to,
    coloured(one.phase),
    `${one.share}%`,
    `${one.step}/${one.steps.length}`,
    `${one.requests}/${one.requests_needed}`,
    one.changed_at,
    one.reason,
  ])
  printTable(head, rows, false, ['SINCE', 'STEP'])
  for (const { route, compared, phase } of rollouts) {
    if (phase !== 'running' && phase !== 'paused') continue
    for (const { standing, text } of compared) printRemark(`${route}: ${standing}: ${text}`)
  }
}

function coloured(phase: Rollout['phase']): Painted {
  const colours: Partial<Record<Rollout['phase'], Colour>> = { back: 'red', complete: 'green' }
  return { text: phase, colour: colours[phase] }
}

export function printShadows(shadows: readonly Shadow[]): void {
  const head = [
    'ROUTE',
    'ANSWERS OF',
    'COPIES',
    'FAILED',
    'TOKENS',
    'BYTES',
    'P50',
    'P95',
    'DIFFER',
  ]
  const rows = shadows.flatMap(({ route, upstream, real, shadow, differences, copies }) => [
    [route, 'route', undefined, ...figures(real), undefined],
    [route, upstream, counts(copies), ...figures(shadow), counts(differences)],
  ])
  printTable(head, rows)
}

function figures(answers: z.output<typeof Answers>): unknown[] {
  const ms = (time: number | undefined) => time && `${time}ms`
  const { failed, mean_completion_tokens, mean_bytes, first_p50_ms, first_p95_ms } = answers
  return [failed, mean_completion_tokens, mean_bytes, ms(first_p50_ms), ms(first_p95_ms)]
}

function counts(of: Readonly<Record<string, number>>): string | undefined {
  const all = Object.entries(of).map(([name, count]) => `${name} ${count}`)
  return all.length === 0 ? undefined : all.join(', ')
}
