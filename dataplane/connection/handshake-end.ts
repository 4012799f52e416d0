/**
 * In TLS 1.3 a client finishes its handshake before the server checks the client's certificate: a refusal comes as an
 * alert after the first request, or is lost in the reset after it. This file distinguishes both from an upstream that
 * just closed.
 */
import type { TLSSocket } from 'node:tls'
import { CLIENT_CERTIFICATE_REFUSED } from './tls-reasons.ts'

/** Must be called after the handshake, before any other listener is added to the socket. */
export function watchHandshakeEnd(socket: TLSSocket): void {
  if (socket.getProtocol() !== 'TLSv1.3' || !asksForCertificate(socket)) return
  const onReadable = () => {
    if (socket.readableLength > 0) unwatch()
  }
  const onError = (error: Error & { code?: string }) => {
    unwatch()
    if (error.code?.startsWith('ERR_SSL') === true) {
      // Otherwise undici would report the end of the connection that follows.
      socket.destroy(error)
    } else {
      const message = CLIENT_CERTIFICATE_REFUSED
      Object.assign(error, { code: 'ERR_TLS_CLIENT_CERTIFICATE', message })
    }
  }
  /** A server sends a session ticket or a byte of an answer only after it accepted the certificate. */
  function unwatch(): void {
    socket.off('session', unwatch).off('readable', onReadable).off('error', onError)
  }
  socket.on('session', unwatch).on('readable', onReadable).on('error', onError)
}

/** A client knows the accepted signatures only from a server's CertificateRequest. */
function asksForCertificate(socket: TLSSocket): boolean {
  return socket.getSharedSigalgs().length > 0
}
