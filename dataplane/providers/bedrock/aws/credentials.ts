/** The credential of a request: an API key, a configured access key, or one from AWS's default chain. */

import type {
  CredentialSource,
  Environment,
  FetchedCredential,
} from '../../../wire/credential-source.ts'
import type { ProviderSettings } from '../../../wire/provider.ts'
import { accessKeyIn, joined } from './access-key.ts'

/** Timeout of the instance metadata; the package's default of a second is short for a starting process. */
const METADATA_MS_MAX = 3_000
const WAYS =
  'write api_key, or give the process AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or a role'

/** undefined if requests carry the configured API key. */
export function credentialSource(
  { credential, region }: ProviderSettings,
  env: Environment,
): CredentialSource | undefined {
  const written = accessKeyIn(credential)
  if (written !== undefined) {
    const { secret, token } = written
    // The value is not sent; its parts are the secrets.
    return constant('api_key', { value: credential, secrets: [secret, token].filter(Boolean) })
  }
  if (credential !== '') return undefined
  const value = env.AWS_BEARER_TOKEN_BEDROCK
  if (value) return constant('AWS_BEARER_TOKEN_BEDROCK', { value })
  const regionUsed = region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? ''
  return { from: "AWS's default credential chain", fetch: () => fromChain(regionUsed) }
}

function constant(from: string, fetched: FetchedCredential): CredentialSource {
  return { from, fetch: async () => fetched }
}

/** The package is large, so only a process with such an upstream loads it. */
async function fromChain(region: string): Promise<FetchedCredential> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  // A provider caches its credentials, so each fetch uses a new one.
  const place = region === '' ? {} : { clientConfig: { region } }
  const chain = defaultProvider({ ...place, timeout: METADATA_MS_MAX })
  const found = await chain().catch((cause: Error) => {
    throw new Error(`${cause.message.split('\n', 1)[0]} To have one, ${WAYS}.`, { cause })
  })
  const { accessKeyId: id, secretAccessKey: secret, sessionToken: token = '', expiration } = found
  return {
    value: joined({ id, secret, token, region }),
    secrets: [secret, token].filter(Boolean),
    ...(expiration !== undefined && { expiresAtMs: expiration.getTime() }),
  }
}
