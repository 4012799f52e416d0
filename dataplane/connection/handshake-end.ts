/**
 * In TLS 1.3 a client has finished its handshake before the server has seen the client's
 * certificate: a refusal comes as an alert after the first request, or is lost in the reset that
 * follows it. This tells both from an upstream that merely went away.
 */
import type { TLSSocket } from 'node:tls'
import { CLIENT_CERTIFICATE_REFUSED } from './tls-reasons.ts'

/** To be called before anything else listens to the socket, with its handshake done. */
export function watchHandshakeEnd(socket: TLSSocket): void {
  if (socket.getProtocol() !== 'TLSv1.3' || !asksForCertificate(socket)) return
  const onReadable = () => {
    if (socket.readableLength > 0) unwatch()
  }
  const onError = (error: Error & { code?: string }) => {
    unwatch()
    if (error.code?.startsWith('ERR_SSL') === true) {
      // The end of the connection follows at once, and undici would report that instead.
      socket.destroy(error)
    } else {
      const message = CLIENT_CERTIFICATE_REFUSED
      Object.assign(error, { code: 'ERR_TLS_CLIENT_CERTIFICATE', message })
    }
  }
  /** A session ticket, or a byte of an answer, comes only from a server that is satisfied. */
  function unwatch(): void {
    socket.off('session', unwatch).off('readable', onReadable).off('error', onError)
  }
  socket.on('session', unwatch).on('readable', onReadable).on('error', onError)
}

/** Only a server's CertificateRequest tells a client which signatures the server takes. */
function asksForCertificate(socket: TLSSocket): boolean {
  return socket.getSharedSigalgs().length > 0
}
