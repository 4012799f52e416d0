/** One decision of a gateway as a tree: the caller, the decisions, and each attempt with its timing. */
import { z } from 'zod'
import { ATTEMPT_FIELDS, TRACE_FIELDS } from '../../dataplane/telemetry/trace/fields.ts'
import { fullTime } from '../printing/ages.ts'
import { paint, statusColour } from '../printing/colours.ts'
import { printLine } from '../printing/output.ts'
import { unsteered } from '../printing/tables/table.ts'
import { linesOf, membersOf } from './fields.ts'
import { Judgements, judgementsOf, Waits, waitsOf } from './judgements.ts'
import { Passages, searchesOf } from './passages.ts'

const Attempt = z.looseObject({
  ...membersOf(ATTEMPT_FIELDS),
  upstream_limits: z.record(z.string(), z.string()).nullish(),
  dropped: z.array(z.string()).nullish(),
  left_out: z.array(z.string()).nullish(),
  parameters: z.array(z.string()).nullish(),
  answer: z
    .looseObject({
      id: z.string().nullish(),
      model: z.string().nullish(),
      finish_reasons: z.array(z.string().nullable()).default([]),
    })
    .nullish(),
})

type Attempt = z.output<typeof Attempt>

export const TraceAnswer = z.looseObject({
  ...membersOf(TRACE_FIELDS),
  attempts: z.array(Attempt).default([]),
  passed_over: z.array(z.looseObject({ upstream: z.string(), why: z.string() })).nullish(),
  ...Judgements,
  ...Waits,
  ...Passages,
})

export type TraceAnswer = z.output<typeof TraceAnswer>

interface Branch {
  readonly text: string
  readonly below?: readonly Branch[]
}

/** `pod`: the pod with the trace, in a cluster. */
export function printTree(trace: TraceAnswer, pod: string | undefined): void {
  const { method, path, status, code, duration_ms, request_id } = trace
  const outcome = paint(`${status}${code ? ` ${code}` : ''}`, statusColour(status), process.stdout)
  printLine(`${request_id}  ${method} ${path}  ${outcome}  ${ms(duration_ms)}`)
  print(branchesOf(trace, pod), '')
}

function branchesOf(trace: TraceAnswer, pod: string | undefined): Branch[] {
  const { time, tenant, key, model, route, strategy, stream, body_ms } = trace
  const caller = tenant ? `caller: key ${key} of tenant ${tenant}` : 'caller: not known'
  const asked = model ? `model "${model}" -> route ${route}` : `route: ${route}`
  return [
    {
      text: `received: ${fullTime(time)}${pod === undefined ? '' : ` by ${pod}`}, body after ${ms(body_ms)}`,
    },
    { text: caller },
    ...branches(linesOf(TRACE_FIELDS, trace)),
    {
      text: `${asked}${strategy ? ` (${strategy})` : ''}${stream ? ', stream' : ''}`,
      below: [
        ...judgementsOf(trace),
        ...searchesOf(trace),
        ...passedOver(trace),
        ...waitsOf(trace),
        ...attemptsOf(trace),
      ],
    },
    ending(trace),
  ]
}

function passedOver({ passed_over }: TraceAnswer): Branch[] {
  return (passed_over ?? []).map(({ upstream, why }) => ({
    text: `passed over ${upstream}: ${why}`,
  }))
}

function attemptsOf({ attempts }: TraceAnswer): Branch[] {
  return attempts.map((attempt, index) => {
    const { upstream, started_ms, ended_ms, outcome, status } = attempt
    const took = outcome === 'running' ? 'runs' : ms(ended_ms - started_ms)
    const said = [outcome, status].filter((part) => part !== null && part !== undefined).join(' ')
    return {
      text: `attempt ${index + 1} at ${upstream}: ${said}, ${took} from ${ms(started_ms)}`,
      below: detailsOf(attempt),
    }
  })
}

function detailsOf(attempt: Attempt): Branch[] {
  const { reason } = attempt
  return branches([
    ...answerOf(attempt),
    ...linesOf(ATTEMPT_FIELDS, attempt),
    ...(reason ? [reason] : []),
  ])
}

function branches(texts: readonly string[]): Branch[] {
  return texts.map((text) => ({ text }))
}

/** Id, model and finish reasons from the answer. */
function answerOf({ answer }: Attempt): string[] {
  const { id, model, finish_reasons = [] } = answer ?? {}
  const reasons = finish_reasons.map((reason) => reason ?? 'none')
  const said = [
    ...(id ? [`id ${id}`] : []),
    ...(model ? [`model ${model}`] : []),
    ...(reasons.length > 0 ? [`finish reason ${reasons.join(', ')}`] : []),
  ]
  return said.length > 0 ? [`answer: ${said.join(', ')}`] : []
}

/** How the request ended and which side ended it; an answer is shown only if there was one. */
function ending(trace: TraceAnswer): Branch {
  const { status, code, message, upstream } = trace
  const below = usageOf(trace)
  if (status > 0 && status < 400)
    return { text: `answered by ${upstream === 'none' ? 'the gateway' : upstream}`, below }
  const known = [status === 0 ? '' : String(status), code ?? '']
  const said = [wordOf(trace), ...known].filter((part) => part !== '').join(' ')
  return { text: message ? `${said}: ${message}` : said, below }
}

function wordOf({ status, attempts, upstream }: TraceAnswer): string {
  if (status === 0) return 'left without an answer'
  if (status === 499) return 'cut off'
  if (attempts.length === 0) return 'refused'
  return status < 500 ? `refused by ${upstream}` : 'failed'
}

function usageOf(trace: TraceAnswer): Branch[] {
  const { prompt_tokens, completion_tokens, usage_estimated, ttft_ms } = trace
  const first = typeof ttft_ms === 'number' ? [{ text: `first content after ${ms(ttft_ms)}` }] : []
  if (typeof prompt_tokens !== 'number') return first
  const estimated = usage_estimated ? ', estimated' : ''
  const used = `${prompt_tokens} prompt and ${completion_tokens ?? 0} completion tokens${estimated}`
  return [...first, { text: used }]
}

function print(branches: readonly Branch[], indent: string): void {
  for (const [index, { text, below = [] }] of branches.entries()) {
    const isLast = index === branches.length - 1
    printLine(`${indent}${isLast ? '└─ ' : '├─ '}${unsteered(text)}`)
    print(below, `${indent}${isLast ? '   ' : '│  '}`)
  }
}

function ms(value: number): string {
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`
}
