/** What a failed connection means. The codes are Node's, OpenSSL's and undici's. */
import type { Failure, FailureClass } from '../providers/contract.ts'
import { tlsReason } from './tls-reasons.ts'

const BY_CODE: ReadonlyMap<string, FailureClass> = new Map([
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

/** Node names what OpenSSL found wrong with a certificate; there are some forty such names. */
const VERIFICATION = /^(ERR_TLS|ERR_SSL|CERT|CRL|CA|EE|PATH|UNABLE_TO|ERROR_IN)_/

/** The code of the error, or of the error it wraps: proxies and address lists hide the real one. */
export function failureOf(error: Error & { code?: string }): Failure {
  const cause = innermost(error)
  const code = cause.code ?? error.code ?? ''
  const message = tlsReason(cause) ?? cause.message
  return { class: classOf(code), message: `${code || cause.name}: ${message}`.slice(0, 500) }
}

function classOf(code: string): FailureClass {
  const known = BY_CODE.get(code)
  if (known !== undefined) return known
  if (VERIFICATION.test(code)) return 'tls'
  if (code.startsWith('HPE_')) return 'malformed'
  return 'reset'
}

function innermost(error: Error & { code?: string }): Error & { code?: string } {
  const { cause } = error
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0]
  if (cause instanceof Error && !BY_CODE.has(error.code ?? '')) return innermost(cause)
  return error
}
