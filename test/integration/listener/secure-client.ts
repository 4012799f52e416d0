/** A client of a gateway over TLS, with a connection for each request. */
import { once } from 'node:events'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect } from 'node:tls'

export interface SecureClient extends Pick<ConnectionOptions, 'ca' | 'cert' | 'maxVersion'> {
  readonly url: string
  /** Empty: no certificate is sent. */
  readonly key: string
  readonly headers?: Readonly<Record<string, string>>
  /** The private key of `cert`. */
  readonly certKey?: string
}

interface Heard {
  readonly status: number
  /** The headers of the request. */
  readonly id: string
  readonly text: string
}

/** Rejects if no connection is established. */
export async function ask(
  { url, key, certKey, headers = {}, ...secure }: SecureClient,
  body: Readonly<Record<string, unknown>>,
): Promise<Heard> {
  const outgoing = request(`${url}/v1/chat/completions`, {
    ...secure,
    ...(certKey && { key: certKey }),
    method: 'POST',
    agent: false,
    servername: 'localhost',
    headers: {
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
      ...headers,
    },
  })
  outgoing.end(JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...body }))
  const [incoming] = await once(outgoing, 'response')
  const { statusCode: status, headers: heard } = incoming
  return { status, id: String(heard['x-request-id']), text: await text(incoming) }
}

export async function handshake(client: SecureClient, protocols: string[] = ['http/1.1']) {
  const { url, certKey, key: _, headers: __, ...secure } = client
  const { hostname: host, port } = new URL(url)
  const socket = connect({
    ...secure,
    ...(certKey && { key: certKey }),
    host,
    port: Number(port),
    servername: 'localhost',
    ALPNProtocols: protocols,
  })
  try {
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    const { alpnProtocol: protocol } = socket
    // The server receives the end of the handshake before the connection closes.
    socket.resume().end()
    await once(socket, 'close')
    return { fingerprint256, protocol }
  } finally {
    socket.destroy()
  }
}

/**
 * Whether the server ends the handshake, or the connection right after it, which is how TLS 1.3
 * refuses a certificate.
 */
export async function failsToShake(client: SecureClient): Promise<boolean> {
  return await ask(client, { model: 'chat' }).then(
    () => false,
    () => true,
  )
}
