/** Anthropic's refusals, and the parts of its streams around the answer. */
import type { GatewayError } from '../../base/errors.ts'
import type { ClientWire } from '../../wire/dialect.ts'
import { openAiWire } from '../openai/wire.ts'

/** Types of errors by HTTP status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Temporary errors; clients of this API identify them by 529. */
const BUSY: ReadonlySet<string> = new Set([
  'ERR_GW_NO_HEALTHY_UPSTREAM',
  'ERR_GW_OVERLOADED',
  'ERR_GW_QUEUE_SATURATED',
])
const OVERLOADED = 529

export const anthropicWire: ClientWire = {
  streamHead: openAiWire.streamHead,
  heartbeat: openAiWire.heartbeat,
  ping: 'event: ping\ndata: {"type":"ping"}\n\n',
  requestIdHeader: 'request-id',
  limitHeaders,
  statusOf: (error) => (BUSY.has(error.code) ? OVERLOADED : error.status),
  refusal: (error, requestId) => envelope(error, messageOf(error), requestId),
  refusalEvent: (error, requestId) =>
    `event: error\ndata: ${envelope(error, messageInStream(error), requestId)}\n\n`,
}

function envelope(error: GatewayError, message: string, requestId: string): string {
  const { code, details } = error
  const { param, facts, passedOn } = details
  const shown = passedOn ? {} : { details: { error_code: code, ...(param && { param }), ...facts } }
  return JSON.stringify({
    type: 'error',
    error: { type: typeOf(error), message, ...shown },
    request_id: requestId,
  })
}

function typeOf(error: GatewayError): string {
  const status = BUSY.has(error.code) ? OVERLOADED : error.status
  return TYPES[status] ?? (status >= 400 && status < 499 ? 'invalid_request_error' : 'api_error')
}

const NO_ROOM = 'input length and `max_tokens` exceed context limit'
const LESS = 'decrease input length or `max_tokens` and try again'
/** The text with the numbers of the vendor. */
const OWN_NO_ROOM = new RegExp(`${NO_ROOM}: .*? and try again`)

/** The API's own texts: after one, clients lower `max_tokens`; after the other, they compact their conversation. */
function messageOf({ code, message, details }: GatewayError): string {
  if (code !== 'ERR_GW_CONTEXT_OVERFLOW') return message
  const { prompt_tokens: prompt, context_window: window, max_tokens: answer } = details.facts ?? {}
  const [own] = OWN_NO_ROOM.exec(message) ?? []
  if (own !== undefined) return own
  if (Number(prompt) < Number(window))
    return `${NO_ROOM}: ${prompt} + ${answer} > ${window}, ${LESS}`
  if (/^prompt is too long/.test(message)) return message
  const numbers = prompt === undefined ? '' : `: ${prompt} tokens > ${window} maximum`
  return `prompt is too long${numbers}. ${message}`
}

/** Clients show only the message of an event. */
function messageInStream(error: GatewayError): string {
  const message = messageOf(error)
  return error.code === 'ERR_GW_CONTEXT_OVERFLOW' ? message : `${error.code}: ${message}`
}

const LIMIT = /^x-ratelimit-(limit|remaining|reset)-(requests|tokens)$/

/** Converts headers from OpenAI's form to Anthropic's: other names, and times instead of durations. */
function limitHeaders(
  headers: Readonly<Record<string, string>>,
  wallMs: number,
): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => {
    const [, figure, unit] = LIMIT.exec(name) ?? []
    if (figure === undefined) return [name, value]
    const shown = figure === 'reset' ? momentOf(value, wallMs) : value
    return [`anthropic-ratelimit-${unit}-${figure}`, shown]
  })
  return Object.fromEntries(named)
}

const DURATION = /^(?:(\d+)m)?([\d.]+)(ms|s)$/

function momentOf(duration: string, wallMs: number): string {
  const [, minutes = '0', count = '0', unit] = DURATION.exec(duration) ?? []
  const ms = Number(minutes) * 60_000 + Number(count) * (unit === 'ms' ? 1 : 1000)
  return `${new Date(wallMs + ms).toISOString().slice(0, -5)}Z`
}
