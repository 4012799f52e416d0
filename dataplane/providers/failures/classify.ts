/**
 * Decides what an upstream's error means. A provider puts its own recognisers before these.
 */

import { rowOf, textOf } from '../../json/values.ts'
import type { Failure, FailureClass } from '../../wire/provider.ts'
import { type ErrorBody, readError, readErrorBody } from './bodies.ts'
import { retryAfterMs } from './delay.ts'

/** A recogniser matches if all its conditions hold. */
export interface Recogniser {
  readonly class: FailureClass
  readonly status?: readonly number[]
  readonly type?: string
  readonly code?: string
  readonly says?: RegExp
  /** A text in the error's details, as JSON. */
  readonly details?: RegExp
}

/** The first match decides, so special recognisers come before general ones. */
const GENERAL: readonly Recogniser[] = [
  { class: 'context', code: 'context_length_exceeded' },
  { class: 'quota', code: 'insufficient_quota' },
  { class: 'quota', type: 'insufficient_quota' },
  { class: 'quota', status: [402] },
  { class: 'credential', status: [401, 403, 407] },
  // The upstream lacks the model, or the client's API.
  { class: 'missing', status: [404, 405] },
  // Not 504: a proxy before the model answered, and the request may be sent again.
  { class: 'timeout', status: [408, 499] },
  { class: 'rate_limited', status: [429] },
  { class: 'overloaded', status: [503, 529] },
  { class: 'server', status: [424] },
]

/** The status of a stream error that names only its kind. */
const STATUS_OF_KIND: Readonly<Record<string, number>> = {
  context_length_exceeded: 400,
  exceed_context_size_error: 400,
  content_filter: 400,
  invalid_request_error: 400,
  BadRequestError: 400,
  validation: 422,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  NotFoundError: 404,
  request_too_large: 413,
  insufficient_quota: 429,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  overloaded: 503,
  overloaded_error: 503,
  unavailable_error: 503,
  ServiceUnavailableError: 503,
  timeout_error: 504,
}

const NOT_IMPLEMENTED = 501

const OF_THE_CLIENT = { type: 'invalid_request_error', code: null } as const

export function classifyAnswer(
  own: readonly Recogniser[],
  status: number,
  headers: Readonly<Record<string, unknown>>,
  body: Buffer,
): Failure {
  const error = readErrorBody(body)
  // An error with a 2xx status is judged by the status in its body.
  if (status >= 200 && status < 300) return classifyBody(own, error, headers)
  return failureOf(own, status, error, headers)
}

/** Classifies an error object in place of an answer or an event. */
export function classifyError(own: readonly Recogniser[], error: unknown): Failure {
  return classifyBody(own, readError(error), {})
}

export function malformed(message: string): Failure {
  return { class: 'malformed', message }
}

/** An answer that lacks what this request asked for; the next upstream may have it. */
export function unlikeAsked(message: string): Failure {
  return { class: 'malformed', message, ofRequest: true }
}

/** An answer in a form that the client's API does not have. A retry would cost the same and give the same. */
export function unfitting(message: string): Failure {
  return { class: 'client', status: 400, message, ...OF_THE_CLIENT, param: 'model' }
}

function classifyBody(
  own: readonly Recogniser[],
  error: ErrorBody,
  headers: Readonly<Record<string, unknown>>,
): Failure {
  const kind = rowOf(STATUS_OF_KIND, error.code) ?? rowOf(STATUS_OF_KIND, error.type)
  const status = error.status ?? kind
  if (status !== undefined) return failureOf(own, status, error, headers)
  const { status: assumed, ...failure } = failureOf(own, 500, error, headers)
  return failure
}

function failureOf(
  own: readonly Recogniser[],
  status: number,
  error: ErrorBody,
  headers: Readonly<Record<string, unknown>>,
): Failure {
  const delay = retryAfterMs(headers, error)
  const kind = classOf(own, status, error)
  // The upstream reports the client's mistake as its own. Its message stays; its error type would mislead.
  const { type, code } = kind === 'client' && status >= 500 ? OF_THE_CLIENT : error
  return {
    class: kind,
    status,
    message: withDropReason(
      error.message ?? `The upstream answered ${status} without a reason.`,
      headers,
    ),
    type,
    param: error.param,
    code,
    ...(delay !== undefined && { retryAfterMs: delay }),
    ...(status === NOT_IMPLEMENTED && { ofRequest: true as const }),
  }
}

const DROP_REASON = 'x-llm-d-request-dropped-reason'
const REASON_MOST = 128

/** llm-d's scheduler sends a header with the reason why it drops a request. */
function withDropReason(message: string, headers: Readonly<Record<string, unknown>>): string {
  const reason = textOf(headers[DROP_REASON])
  return reason === undefined ? message : `${message} (dropped: ${reason.slice(0, REASON_MOST)})`
}

function classOf(own: readonly Recogniser[], status: number, error: ErrorBody): FailureClass {
  for (const recogniser of [...own, ...GENERAL]) {
    if (recognises(recogniser, status, error)) return recogniser.class
  }
  if (status >= 500) return 'server'
  // The gateway never follows a redirect, so it is not an answer.
  return status >= 400 ? 'client' : 'malformed'
}

function recognises(recogniser: Recogniser, status: number, error: ErrorBody): boolean {
  if (recogniser.status && !recogniser.status.includes(status)) return false
  if (recogniser.type !== undefined && recogniser.type !== error.type) return false
  if (recogniser.code !== undefined && recogniser.code !== error.code) return false
  if (recogniser.details && !recogniser.details.test(JSON.stringify(error.details))) return false
  return !recogniser.says || recogniser.says.test(error.message ?? '')
}
