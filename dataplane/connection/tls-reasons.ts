/** The reasons of refused TLS connections, in words. The codes are OpenSSL's and Node's. */

/** A code of the gateway, because Node only reports that the socket was closed. */
export const CLIENT_CERTIFICATE_REFUSED =
  'it asked for a client certificate and hung up on the one it got, or on none'
const UNKNOWN_CA = 'its certificate comes from an authority that is not trusted'
const NO_TLS = 'it does not speak TLS on this port'
const OLD = 'it supports no allowed TLS version'

const BY_CODE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate has been revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself and not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${UNKNOWN_CA}, or it sends no intermediate one`,
  ERR_TLS_CLIENT_CERTIFICATE: CLIENT_CERTIFICATE_REFUSED,
  INVALID_PURPOSE: 'its certificate is not for servers',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_HTTP_REQUEST: NO_TLS,
  ERR_SSL_UNSUPPORTED_PROTOCOL: OLD,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: OLD,
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'it serves no site with this name',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it demands a client certificate',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
    'it ended the handshake, as a server does that requires a client certificate or another cipher',
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE': 'it does not accept the client certificate',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'it does not trust the client certificate',
}

/** undefined if the error's own message is the best. */
export function tlsReason(error: Error & { code?: unknown; reason?: unknown }): string | undefined {
  const { reason } = error
  const code = codeOf(error)
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code]
  // OpenSSL's message contains a source line; only the reason is useful.
  return code.startsWith('ERR_SSL') && typeof reason === 'string' ? reason : undefined
}

/** The code of an abort is a number. */
export function codeOf({ code }: { readonly code?: unknown }): string {
  return typeof code === 'string' ? code : ''
}
