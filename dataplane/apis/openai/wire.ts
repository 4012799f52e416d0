/** OpenAI's refusals, and the parts of its streams around the answer. */
import { ERRORS, type GatewayError } from '../../base/errors.ts'
import type { ClientWire } from '../../wire/dialect.ts'

export const openAiWire: ClientWire = {
  streamHead: [
    'content-type',
    'text/event-stream; charset=utf-8',
    'cache-control',
    'no-cache, no-transform',
    'x-accel-buffering',
    'no',
  ],
  heartbeat: ': keepalive\n',
  refusal: envelope,
  refusalEvent: (error, requestId) => `data: ${envelope(error, requestId)}\n\n`,
}

/** OpenAI's own codes, for clients that check for them. */
const OPENAI_CODES: Readonly<Record<string, string>> = {
  ERR_GW_AUTH_INVALID_KEY: 'invalid_api_key',
  ERR_GW_BUDGET_EXCEEDED: 'insufficient_quota',
  ERR_GW_CONTEXT_OVERFLOW: 'context_length_exceeded',
  ERR_GW_RATE_LIMIT_LOCAL: 'rate_limit_exceeded',
}

export function openAiCodeOf({ code, details, final }: GatewayError): string | undefined {
  if (code === 'ERR_GW_UPSTREAM_RATE_LIMIT')
    return final ? 'insufficient_quota' : 'rate_limit_exceeded'
  if (code === 'ERR_GW_ROUTE_NOT_FOUND')
    return details.param === 'model' ? 'model_not_found' : undefined
  return OPENAI_CODES[code]
}

/** Always the four members, then the request id and the facts. */
export function envelope(error: GatewayError, requestId: string): string {
  const { code, details, message } = error
  const { param, facts, type, shownCode, passedOn } = details
  const own = { request_id: requestId, openai_code: openAiCodeOf(error), ...facts }
  const more = passedOn ? {} : own
  return JSON.stringify({
    error: {
      message,
      type: type === undefined ? ERRORS[code].type : type,
      param: param ?? null,
      code: shownCode === undefined ? code : shownCode,
      ...more,
    },
  })
}
