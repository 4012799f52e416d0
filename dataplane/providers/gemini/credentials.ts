/** Tokens for Vertex AI: from a service account key, or from the identity of the pod or machine. */
import type { AuthClient, ExternalAccountClientOptions } from 'google-auth-library'
import { parsed, recordOf, textOf } from '../../json/values.ts'
import type { CredentialSource, FetchedCredential } from '../../wire/credential-source.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { vertexOf } from './facts.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** undefined if requests carry a key unchanged: at Google AI, or with a configured API key. */
export function openCredentials(settings: ProviderSettings): CredentialSource | undefined {
  const vertex = vertexOf(settings)
  const written = settings.credential.trim()
  if (vertex === undefined || (written !== '' && !written.startsWith('{'))) return undefined
  const { project } = vertex
  return {
    from: written === '' ? "Google's default credentials" : 'a Google key',
    fetch: () => fetchToken(written, project),
  }
}

/** A new client each time, because a client returns its cached token. */
async function fetchToken(written: string, project: string): Promise<FetchedCredential> {
  const client = await (written === '' ? defaultClient(project) : clientWith(written))
  const headers = await client.getRequestHeaders()
  const value = headers.get('authorization')?.replace(/^Bearer /, '') ?? ''
  const expiresAtMs = expiryIn(value) ?? client.credentials.expiry_date
  return { value, ...(expiresAtMs != null && { expiresAtMs }) }
}

/** From a file that an environment variable names, or from the metadata server. */
async function defaultClient(project: string): Promise<AuthClient> {
  const { GoogleAuth } = await import('google-auth-library')
  // Without the project, the library would ask another service for it.
  const auth = new GoogleAuth({ scopes: [SCOPE], projectId: project })
  auth.useJWTAccessWithScope = true
  return auth.getClient()
}

async function clientWith(written: string): Promise<AuthClient> {
  const { ExternalAccountClient, JWT } = await import('google-auth-library')
  const key = recordOf(parsed(written))
  const [email, secret] = [textOf(key.client_email), textOf(key.private_key)]
  if (key.type === 'service_account' && email !== undefined && secret !== undefined) {
    const client = new JWT({ email, key: secret, scopes: [SCOPE], ...keyId(key) })
    // The key itself signs tokens, so the gateway contacts no other service.
    client.useJWTAccessWithScope = true
    return client
  }
  // The library checks the members of such a document.
  const client = ExternalAccountClient.fromJSON(key as unknown as ExternalAccountClientOptions)
  if (client === null)
    throw new Error('api_key is not a JSON key of type service_account or external_account.')
  client.scopes = [SCOPE]
  return client
}

function keyId({ private_key_id: id }: Readonly<Record<string, unknown>>) {
  const keyId = textOf(id)
  return keyId === undefined ? {} : { keyId }
}

/** The expiry in a signed token. */
function expiryIn(token: string): number | undefined {
  const claims = token.split('.')[1]
  if (claims === undefined) return undefined
  const { exp } = recordOf(parsed(Buffer.from(claims, 'base64url').toString()))
  return typeof exp === 'number' ? exp * 1000 : undefined
}
