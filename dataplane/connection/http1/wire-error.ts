/** Why an exchange failed. The codes are those of undici, so that one table covers both. */

export class WireError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Bytes that are not HTTP, or that two readers could read differently. */
export function malformed(message: string): WireError {
  return new WireError('HPE_INVALID_RESPONSE', message)
}

export function tooLong(message: string): WireError {
  return new WireError('UND_ERR_HEADERS_OVERFLOW', message)
}

export function cut(): WireError {
  return new WireError('UND_ERR_SOCKET', 'other side closed')
}

export function refusedByProxy(status: number): WireError {
  return new WireError('UND_ERR_ABORTED', `The egress proxy refused the request (${status}).`)
}
