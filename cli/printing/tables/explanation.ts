/** The answer of the admin API to `gw explain`, as far as the tool shows it. */
import { z } from 'zod'
import { GuardrailStatus, printGuardrails } from '../auxiliaries.ts'
import { state, yesOrNo } from '../colours.ts'
import { printLine, printText } from '../output.ts'
import { printStanding, TenantLimits } from './limits-table.ts'
import { printTable } from './table.ts'
import { countedText, TOKENS, tokensLines } from './tokens-text.ts'
import {
  BREAKER,
  breakerLines,
  ENDPOINTS,
  endpointLines,
  SHARES,
  sharesLines,
} from './upstreams-text.ts'

const Upstream = z.looseObject({
  name: z.string(),
  eligible: z.boolean(),
  health: z.string(),
  ...BREAKER,
  in_flight: z.number(),
  queue: z.union([z.number(), z.string()]),
  ...TOKENS,
  ...ENDPOINTS,
  ...SHARES,
})

const Rights = z.looseObject({
  id: z.string().optional(),
  tenant: z.string().optional(),
  status: z.number(),
  why: z.string(),
})

const ExplainedVerdict = z.looseObject({
  status: z.number(),
  code: z.string().nullish(),
  message: z.string(),
  retry_after_seconds: z.number().nullish(),
  prompt: z.looseObject({ tokens: z.number(), counted: z.string() }).optional(),
})
type ExplainedVerdict = z.output<typeof ExplainedVerdict>

const Rollout = z.looseObject({
  to: z.string(),
  phase: z.string(),
  share: z.number().describe('of requests, in percent'),
  step: z.number(),
  steps: z.array(z.number()),
  reason: z.string(),
  first: z.enum(['new', 'others']).optional().describe('the side that each request of it takes'),
})

const Shadow = z.looseObject({ upstream: z.string(), percent: z.number(), tenant: z.string() })

export const ExplainAnswer = z.looseObject({
  text: z.string(),
  key: Rights.optional(),
  upstreams: z.array(Upstream).optional(),
  rollout: Rollout.optional(),
  shadow: Shadow.optional(),
  guardrails: z.array(GuardrailStatus).default([]),
  estimates: z.object({ ascii: z.number().optional(), other: z.number().optional() }).optional(),
  limits: TenantLimits.optional(),
  verdict: ExplainedVerdict.optional(),
})
export type ExplainAnswer = z.output<typeof ExplainAnswer>

export const ExplainRefusal = z.object({
  error: z.object({ message: z.string() }),
  verdict: ExplainedVerdict.optional(),
})

/** The answer to the next request in one line. */
export function wordsOf({
  status,
  code,
  message,
  retry_after_seconds: wait,
}: ExplainedVerdict): string {
  if (!code) return `now: ${status}, ${message}`
  // The seconds until a breaker lets a request through; no action helps earlier.
  if (code === 'ERR_GW_NO_HEALTHY_UPSTREAM' && wait && wait > 1)
    return `now: ${status} for ${wait} s more, ${code}: ${message}`
  return `now: ${status}, ${code}: ${message}${wait ? ` Retry-After ${wait} s` : ''}`
}

export function printExplanation(answer: ExplainAnswer, isWide: boolean): void {
  const { text, key, upstreams, guardrails, estimates, limits, verdict } = answer
  const newer = newerLines(answer)
  printText(text)
  if (key !== undefined) {
    const name = key.id === undefined ? 'key' : `key ${key.id} of tenant ${key.tenant}`
    printLine(`\n${name}: ${key.status}, ${key.why}`)
  }
  if (upstreams !== undefined) printUpstreams(upstreams, isWide)
  if (newer.length > 0) printLine('')
  for (const line of newer) printLine(line)
  printGuardrails(guardrails)
  const learnt = Object.entries(estimates ?? {}).map(
    ([kind, ratio = 1]) => `${ratio.toFixed(2)} (${kind})`,
  )
  if (learnt.length > 0) printLine(`\nestimated prompts count times ${learnt.join(', ')}`)
  if (limits !== undefined) {
    printLine(`\nlimits of tenant ${limits.tenant} now`)
    printStanding(limits, isWide)
  }
  if (verdict !== undefined) printLine(`\n${wordsOf(verdict)}`)
  if (verdict?.prompt !== undefined)
    printLine(`prompt: ${verdict.prompt.tokens} tokens (${verdict.prompt.counted})`)
}

/** Which upstream a request takes now, by the rollout, and which gets a copy. */
function newerLines({ rollout, shadow }: ExplainAnswer): string[] {
  const lines: string[] = []
  if (rollout !== undefined) {
    const { to, phase, share, step, steps, reason, first } = rollout
    const side =
      first === 'new' ? `this request takes ${to} first` : 'this request takes the others'
    const which = first === undefined ? `${share} % of requests take ${to} first` : side
    lines.push(
      `rollout to ${to}: ${phase}, ${share} %, step ${step} of ${steps.length}; ${which} (${reason})`,
    )
  }
  if (shadow !== undefined)
    lines.push(
      `shadow: ${shadow.percent} % of requests are copied to ${shadow.upstream} for tenant ${shadow.tenant}`,
    )
  return lines
}

function printUpstreams(upstreams: readonly z.output<typeof Upstream>[], isWide: boolean): void {
  printLine('\nupstreams now')
  printTable(
    ['NAME', 'ELIGIBLE', 'HEALTH', 'BREAKER', 'IN FLIGHT', 'QUEUE', 'TOKENS'],
    upstreams.map((one) => [
      one.name,
      yesOrNo(one.eligible),
      state(one.health),
      state(one.breaker),
      one.in_flight,
      one.queue,
      countedText(one),
    ]),
    isWide,
    ['TOKENS', 'QUEUE', 'IN FLIGHT'],
  )
  for (const line of [...endpointLines(upstreams), ...sharesLines(upstreams)]) printLine(line)
  for (const line of [...breakerLines(upstreams), ...tokensLines(upstreams)]) printLine(line)
}
