/** Microsoft Entra ID for the vendor's SDK: sign-in with a secret or an assertion, and the identity of a machine. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../../certificates.ts'

export const TENANT = '11111111-2222-3333-4444-555555555555'
const AUDIENCE = 'https://cognitiveservices.azure.com'
const MACHINE_SECRET = 'the-header-of-the-machine'

/** The proof of a client: `secret S`, `assertion A` or `machine`. */
type Proof = string

export interface FakeEntra {
  readonly url: string
  /** The received proofs, in order. */
  readonly asked: readonly Proof[]
  /** Every token that it returned. */
  readonly tokens: Set<string>
  /** Variables with which the SDK finds the identity of the machine here. */
  readonly machine: Readonly<Record<string, string>>
  /** The accepted proof; undefined: every proof. */
  accepts: Proof | undefined
  /** Seconds that tokens hold. */
  seconds: number
  close(): Promise<void>
}

export async function startEntra(certificate?: Certificate): Promise<FakeEntra> {
  const asked: Proof[] = []
  const tokens = new Set<string>()
  const entra = {
    url: '',
    asked,
    tokens,
    machine: {} as Readonly<Record<string, string>>,
    accepts: undefined as Proof | undefined,
    seconds: 3600,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  const answerTo = async (incoming: IncomingMessage): Promise<readonly [number, object]> => {
    const path = incoming.url ?? ''
    if (path.endsWith('/.well-known/openid-configuration')) return [200, metadataOf(entra.url)]
    const proof = proofIn(path, incoming.headers, await textOf(incoming))
    if (proof === undefined) return [404, {}]
    asked.push(proof)
    if (entra.accepts !== undefined && entra.accepts !== proof) return [401, REFUSED]
    const token = `token-${asked.length}-${'x'.repeat(40)}`
    tokens.add(token)
    const expires_on = String(Math.floor(Date.now() / 1000) + entra.seconds)
    const facts = { access_token: token, expires_in: entra.seconds, expires_on }
    return [200, { ...facts, token_type: 'Bearer', resource: AUDIENCE }]
  }
  const listener: Parameters<typeof createServer>[1] = (incoming, outgoing) =>
    void answerTo(incoming).then(([status, body]) => {
      outgoing.writeHead(status, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify(body))
    })
  const server: Server =
    certificate === undefined ? createServer(listener) : createSecureServer(certificate, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  entra.url = certificate === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
  const endpoint = `${entra.url}/machine`
  entra.machine = { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: MACHINE_SECRET }
  return entra
}

const REFUSED = {
  error: 'invalid_client',
  error_description: 'AADSTS7000215: Invalid client secret provided.',
  error_codes: [7_000_215],
}

function metadataOf(url: string): object {
  const base = `${url}/${TENANT}`
  return {
    token_endpoint: `${base}/oauth2/v2.0/token`,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    issuer: `${base}/v2.0`,
    jwks_uri: `${base}/discovery/v2.0/keys`,
  }
}

function proofIn(
  path: string,
  headers: IncomingMessage['headers'],
  body: string,
): Proof | undefined {
  const url = new URL(path, 'http://localhost')
  if (url.pathname === '/machine') {
    const isAsked = url.searchParams.get('resource') === AUDIENCE
    return isAsked && headers['x-identity-header'] === MACHINE_SECRET ? 'machine' : undefined
  }
  if (url.pathname !== `/${TENANT}/oauth2/v2.0/token`) return undefined
  const form = new URLSearchParams(body)
  const scopes = (form.get('scope') ?? '').split(' ')
  const isAsked = form.get('grant_type') === 'client_credentials'
  if (!isAsked || !scopes.includes(`${AUDIENCE}/.default`)) return undefined
  const assertion = form.get('client_assertion')
  return assertion === null ? `secret ${form.get('client_secret')}` : `assertion ${assertion}`
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
}
