/** POST /guardrails/test of the admin API: a guardrail's verdict on a text. */
import { AuxiliaryError } from '../../auxiliaries/auxiliary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Side, Verdict } from '../../guardrails/contract.ts'
import { parsed, recordOf, textOf } from '../../json/values.ts'

const SUBJECT = { requestId: 'test', tenant: 'test', key: 'test', model: 'test' }

/** undefined if no guardrail has the name. */
export async function testGuardrail(name: string, body: string, { guards, clock }: Gateway) {
  const guard = guards.named(name)
  if (guard === undefined) return undefined
  const { input, side: asked } = recordOf(parsed(body))
  const { stage, protocol, redact, on_error } = guard.section
  const side: Side =
    asked === 'output' || (asked === undefined && stage === 'output') ? 'output' : 'input'
  const facts = { name, side, stage, protocol, redact, on_error }
  const said = { role: side === 'input' ? 'user' : 'assistant', text: textOf(input) ?? '' }
  const began = clock.now()
  try {
    const verdict = await guard.ask(side, [said], SUBJECT)
    return {
      ...facts,
      ok: true,
      ms: clock.now() - began,
      verdict: verdict.kind,
      ...shownOf(verdict),
    }
  } catch (error) {
    if (!(error instanceof AuxiliaryError)) throw error
    return { ...facts, ok: false, ms: clock.now() - began, failure: error.message }
  }
}

function shownOf(verdict: Verdict) {
  if (verdict.kind === 'mask') return { text: verdict.texts[0] }
  return verdict.kind === 'block' && verdict.message !== undefined
    ? { reason: verdict.message }
    : {}
}
