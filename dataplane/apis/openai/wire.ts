/** How OpenAI's APIs refuse, and how their streams look around the answer. */
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

/** Four members always, the request id, then the facts. */
export function envelope({ code, details, message }: GatewayError, requestId: string): string {
  const { param, facts, type, shownCode, passedOn } = details
  const more = passedOn ? {} : { request_id: requestId, ...facts }
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
