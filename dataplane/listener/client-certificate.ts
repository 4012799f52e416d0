/** The verified certificate of a client: its names and its end, read once per connection. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../call/call.ts'

const NAMES_MAX = 64
const NAME_LENGTH_MAX = 2048
/** Node's format of a list of names: ambiguous names are quoted as JSON. */
const ENTRY = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)/y
/** A URI with such a part names a place outside its prefix. */
const STEP = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i

const known = new WeakMap<TLSSocket, ClientCertificate>()

/** Undefined without TLS, without a certificate, and with one that no authority of the configuration has signed. */
export function certificateOf(socket: Socket | undefined): ClientCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const read = known.get(socket)
  if (read !== undefined) return read
  const presented = socket.getPeerX509Certificate()
  if (presented === undefined) return undefined
  const { subjectAltName = '', validToDate } = presented
  const certificate = { names: namesIn(subjectAltName), until: validToDate.getTime() }
  known.set(socket, certificate)
  return certificate
}

/** URIs and hosts. A configuration cannot list a name with a comma, a quote or a `*`. */
export function namesIn(list: string): readonly string[] {
  const names: string[] = []
  let end = 0
  while (end < list.length) {
    ENTRY.lastIndex = end
    const found = ENTRY.exec(list)
    // A list that cannot be read completely proves nothing.
    if (found === null) return []
    end = ENTRY.lastIndex
    const [, type, value = ''] = found
    if (/[*"]/.test(value) || value === '' || value.length > NAME_LENGTH_MAX) continue
    if (type === 'URI' && value.includes('://') && !STEP.test(value)) names.push(value)
    if (type === 'DNS' && !value.includes('://')) names.push(value.toLowerCase())
  }
  return names.slice(0, NAMES_MAX)
}
