/** The client's error if no attempt is left. */
import { GatewayError } from '../../base/errors.ts'
import { maskKeys, shownFailure } from '../../base/shown-text.ts'
import { inputMember } from '../../tokens/input-member.ts'
import { tooLongWords } from '../../tokens/overflow-words.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'

/** Longest Retry-After for clients, in seconds. */
const RETRY_AFTER_SECONDS_MAX = 60
/** Statuses after which a repetition may succeed: too slow, conflict with another request, too early. */
const PASSING: ReadonlySet<number | undefined> = new Set([408, 409, 425])

/** `request`: the failed one, if it came from a client; `window`: the upstream's, if it is known. */
export function refusalOf(
  failure: Failure,
  upstream: string,
  request?: Pick<ModelRequest, 'operation' | 'wire'>,
  window?: number,
): GatewayError {
  const message = maskKeys(failure.message)
  const said = wordsFor(failure, upstream)
  const cause = `${upstream}: ${message}`
  const facts = { upstream_status: failure.status }
  switch (failure.class) {
    case 'context':
      return new GatewayError('ERR_GW_CONTEXT_OVERFLOW', tooLongWords(message, window), {
        ...(request && { param: inputMember(request) }),
        facts,
      })
    case 'rate_limited':
    case 'quota':
      return new GatewayError('ERR_GW_UPSTREAM_RATE_LIMIT', message, {
        facts,
        final: failure.class === 'quota',
        // Clients back off by this header; if the upstream names no time, it has the shortest.
        ...(failure.class === 'rate_limited' ? retryAfter(failure, 1000) : retryAfter(failure)),
      })
    case 'credential':
      if (failure.shown !== undefined) return upstreamError(said, facts, cause)
      return upstreamError(`Upstream "${upstream}" refused the gateway's credential.`, facts)
    case 'tls':
      return new GatewayError('ERR_GW_UPSTREAM_TLS_VERIFY', said, { cause })
    case 'timeout':
      if (failure.status !== undefined) return passedOn(failure, message)
      return new GatewayError('ERR_GW_PROXY_TIMEOUT', said, { cause })
    case 'client':
    case 'missing':
      return passedOn(failure, message)
    case 'overloaded':
      return upstreamError(said, facts, cause, retryAfter(failure))
    default:
      return upstreamError(said, facts, cause)
  }
}

/** The client's text for a failure that the client did not cause. Only the trace has addresses and internal codes. */
export function wordsFor(failure: Failure, upstream: string): string {
  if (failure.shown !== undefined) return `Upstream "${upstream}" ${failure.shown}.`
  const link = failure.class === 'timeout' ? ':' : ' failed:'
  return `Upstream "${upstream}"${link} ${shownFailure(failure.message)}`
}

function upstreamError(
  message: string,
  facts: Readonly<Record<string, unknown>>,
  cause = message,
  wait: RetryAfter = {},
): GatewayError {
  return new GatewayError('ERR_GW_UPSTREAM_ERROR', message, { facts, cause, ...wait })
}

/** A client's mistake as the upstream reports it: the status, and OpenAI's four members. */
function passedOn(failure: Failure, message: string): GatewayError {
  return new GatewayError('ERR_GW_UPSTREAM_ERROR', message, {
    // Some runtimes answer 5xx although the request is at fault.
    status: failure.status === undefined || failure.status >= 500 ? 400 : failure.status,
    type: failure.type ?? 'invalid_request_error',
    shownCode: failure.code ?? null,
    passedOn: true,
    final: !PASSING.has(failure.status),
    ...(failure.param == null ? {} : { param: failure.param }),
  })
}

interface RetryAfter {
  readonly retryAfterSeconds?: number
}

function retryAfter({ retryAfterMs }: Failure, otherwiseMs?: number): RetryAfter {
  const ms = retryAfterMs ?? otherwiseMs
  if (ms === undefined) return {}
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  return { retryAfterSeconds: Math.min(seconds, RETRY_AFTER_SECONDS_MAX) }
}
