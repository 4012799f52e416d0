/** Prints the reasons: the sentences, then the events of the span on one line of time, newest first. */
import { z } from 'zod'
import type { Reasons } from '../../dataplane/why/why.ts'
import { printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

const EVENTS_SHOWN = 20

const Cause = z.looseObject({
  kind: z.string(),
  since: z.string().optional().describe('when it began'),
  text: z.string(),
  weight: z
    .number()
    .describe('3: failed requests tell it; 2: a state that would cause them; 1: a change before'),
})

export const WhyAnswer = z.looseObject({
  since: z.string(),
  until: z.string(),
  sentences: z.array(z.string()).describe('the first names the cause'),
  incidents: z.array(
    z.looseObject({
      symptom: z
        .looseObject({
          route: z.string(),
          tenant: z.string().optional(),
          status: z.number().describe('0: only the history counts the requests'),
          code: z.string(),
          fault: z.enum(['outage', 'limit', 'client']),
          share: z.number().describe('of the requests since it began'),
          since: z.string(),
          until: z.string(),
          requests: z.number().describe('failed ones that gateways remember'),
        })
        .optional(),
      causes: z.array(Cause),
    }),
  ),
  timeline: z
    .array(
      z.looseObject({
        time: z.string(),
        event: z.string(),
        message: z.string(),
        pod: z.string().optional(),
      }),
    )
    .describe('newest first'),
})

export type WhyAnswer = z.output<typeof WhyAnswer>

export function whyAnswer(
  { sentences, incidents, timeline }: Reasons,
  span: { readonly since: number; readonly until: number },
): WhyAnswer {
  return {
    since: iso(span.since),
    until: iso(span.until),
    sentences: [...sentences],
    incidents: incidents.map(({ symptom, causes }) => ({
      ...(symptom && {
        symptom: { ...symptom, since: iso(symptom.since), until: iso(symptom.until) },
      }),
      causes: causes.map(({ since, ...cause }) => ({
        ...cause,
        ...(since !== undefined && { since: iso(since) }),
      })),
    })),
    timeline: timeline.map(({ at, event, message, pod, fields }) => ({
      time: iso(at),
      event,
      message,
      ...(pod !== undefined && { pod }),
      fields,
    })),
  }
}

export function printWhy({ sentences, timeline }: WhyAnswer, isWide: boolean): void {
  for (const sentence of sentences) printLine(sentence)
  if (timeline.length === 0) return
  printLine('')
  const shown = isWide ? timeline : timeline.slice(0, EVENTS_SHOWN)
  printTable(
    ['TIME', 'EVENT', 'WHAT', ...(isWide ? ['POD'] : [])],
    shown.map(({ time, event, message, pod }) => [
      time.slice(0, 19).replace('T', ' '),
      event,
      message,
      ...(isWide ? [pod] : []),
    ]),
    isWide,
    [],
  )
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
