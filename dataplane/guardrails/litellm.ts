/** LiteLLM's generic guardrail API. */
import { listOf, recordOf, textOf } from '../json/values.ts'
import type { Protocol } from './contract.ts'

export const litellm: Protocol = {
  write: (side, texts, { requestId, tenant, key, model }) => ({
    path: '/beta/litellm_basic_guardrail_api',
    body: {
      input_type: side === 'input' ? 'request' : 'response',
      texts: texts.map(({ text }) => text),
      ...(side === 'input' && {
        structured_messages: texts.map(({ role, text }) => ({ role, content: text })),
      }),
      model,
      request_data: { user_api_key_team_id: tenant, user_api_key_alias: key },
      litellm_call_id: requestId,
      litellm_trace_id: requestId,
      additional_provider_specific_params: {},
    },
  }),

  read(_side, answer, judged) {
    const { action, blocked_reason: reason, texts } = recordOf(answer)
    if (action === 'NONE') return { kind: 'pass' }
    if (action === 'BLOCKED') return { kind: 'block', message: textOf(reason) }
    if (action !== 'GUARDRAIL_INTERVENED') return undefined
    if (texts === undefined || texts === null) return { kind: 'pass' }
    const changed = listOf(texts).filter((text) => typeof text === 'string')
    return changed.length === judged ? { kind: 'mask', texts: changed } : undefined
  },
}
