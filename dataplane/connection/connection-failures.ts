/** Classes of failed connections. The codes are Node's, OpenSSL's and undici's. */
import type { Failure } from '../wire/provider.ts'
import { codeOf, tlsReason } from './tls-reasons.ts'

type ConnectionFailure = 'connect' | 'reset' | 'timeout' | 'malformed' | 'tls'

const BY_CODE: ReadonlyMap<string, ConnectionFailure> = new Map([
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ['UND_ERR_BODY_TIMEOUT', 'timeout'],
  ['ETIMEDOUT', 'timeout'],
  ['ECONNREFUSED', 'connect'],
  ['ENOTFOUND', 'connect'],
  ['EAI_AGAIN', 'connect'],
  ['EHOSTUNREACH', 'connect'],
  ['ENETUNREACH', 'connect'],
  ['EADDRNOTAVAIL', 'connect'],
  ['ERR_GW_ADDRESS_DENIED', 'connect'],
  ['ERR_GW_NO_CONNECTION', 'connect'],
  // The egress proxy refused the tunnel, asked for a credential, or hung up.
  ['UND_ERR_ABORTED', 'connect'],
  ['UND_ERR_INVALID_ARG', 'connect'],
  ['UND_ERR_PRX_CONN', 'connect'],
  ['UND_ERR_SOCKET', 'reset'],
  ['ECONNRESET', 'reset'],
  ['EPIPE', 'reset'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'reset'],
  ['UND_ERR_HEADERS_OVERFLOW', 'malformed'],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'malformed'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'tls'],
  ['HOSTNAME_MISMATCH', 'tls'],
  ['INVALID_CA', 'tls'],
  ['INVALID_PURPOSE', 'tls'],
  ['EPROTO', 'tls'],
])

/** Codes of addresses where no server listens. */
const UNREACHED = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/** Node's names of OpenSSL's faults of a certificate; there are some forty. */
const VERIFICATION = /^(ERR_TLS|ERR_SSL|CERT|CRL|CA|EE|PATH|UNABLE_TO|ERROR_IN)_/

/** The code of the error, or of the error it wraps: proxies and address lists hide the real one. */
export function failureOf(error: Error & { code?: unknown }): Failure {
  const cause = innermost(error)
  const code = codeOf(cause) || codeOf(error)
  const reason = tlsReason(cause)
  const message = `${code || cause.name}: ${reason ?? cause.message}`.slice(0, 500)
  const kind = classOf(code)
  const shown = kind === 'tls' ? shownOfTls(reason, code) : SHOWN[kind]
  return { class: kind, message, shown, ...(UNREACHED.has(code) && { isUnreached: true }) }
}

/** Clients read these texts: the message of an error names addresses, ports and the functions that failed. */
const SHOWN: Readonly<Record<'connect' | 'reset' | 'timeout' | 'malformed', string>> = {
  connect: 'could not be reached',
  reset: 'closed the connection before its answer was complete',
  timeout: 'did not answer in time',
  malformed: 'sent an answer that is not valid HTTP',
}

/** Shows only the gateway's own reasons, because Node's may list the names of a certificate. */
function shownOfTls(reason: string | undefined, code: string): string {
  const isMisnamed = code === 'ERR_TLS_CERT_ALTNAME_INVALID'
  const otherwise = isMisnamed ? 'is for another name' : 'could not be verified'
  return `could not be reached over TLS: ${reason ?? `its certificate ${otherwise}`}`
}

function classOf(code: string): ConnectionFailure {
  const known = BY_CODE.get(code)
  if (known !== undefined) return known
  if (VERIFICATION.test(code)) return 'tls'
  if (code.startsWith('HPE_')) return 'malformed'
  return 'reset'
}

function innermost(error: Error & { code?: unknown }): Error & { code?: unknown } {
  const { cause } = error
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0]
  if (cause instanceof Error && !BY_CODE.has(codeOf(error))) return innermost(cause)
  return error
}
