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

export const ExplainAnswer = z.looseObject({
  text: z.string(),
  key: Rights.optional(),
  upstreams: z.array(Upstream).optional(),
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
  printText(text)
  if (key !== undefined) {
    const name = key.id === undefined ? 'key' : `key ${key.id} of tenant ${key.tenant}`
    printLine(`\n${name}: ${key.status}, ${key.why}`)
  }
  if (upstreams !== undefined) printUpstreams(upstreams, isWide)
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
