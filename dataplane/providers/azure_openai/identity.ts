/** The identity of the process at Microsoft Entra ID: a client secret, a pod's federated token, or a managed identity. */
import type { TokenCredential } from '@azure/identity'
import type { CredentialSource, Environment } from '../credential-source.ts'

type Sdk = typeof import('@azure/identity')

/** The host that signs in names a separate cloud. */
const AUDIENCES: Readonly<Record<string, string>> = {
  'login.microsoftonline.us': 'https://cognitiveservices.azure.us',
  'login.chinacloudapi.cn': 'https://cognitiveservices.azure.cn',
}
const AUDIENCE = 'https://cognitiveservices.azure.com'

export function entraIdentity(env: Environment): CredentialSource {
  const scope = `${audienceOf(env)}/.default`
  return {
    from: 'Microsoft Entra ID',
    async fetch(signal) {
      const sdk = await import('@azure/identity')
      // A new object has no cache, so that a renewal is one.
      const token = await credentialOf(sdk, env).getToken(scope, { abortSignal: signal })
      if (token === null) throw new Error('It gave no token.')
      return { value: token.token, expiresAtMs: token.expiresOnTimestamp }
    },
  }
}

/** By the variables that the SDK reads: the first that is complete decides, and its own words explain a failure. */
function credentialOf(sdk: Sdk, env: Environment): TokenCredential {
  if (env.AZURE_TOKEN_CREDENTIALS) return new sdk.DefaultAzureCredential()
  if (env.AZURE_CLIENT_SECRET || env.AZURE_CLIENT_CERTIFICATE_PATH) {
    return new sdk.EnvironmentCredential()
  }
  if (env.AZURE_FEDERATED_TOKEN_FILE) return new sdk.WorkloadIdentityCredential()
  const clientId = env.AZURE_CLIENT_ID
  return new sdk.ManagedIdentityCredential(clientId ? { clientId } : {})
}

function audienceOf({ AZURE_AUTHORITY_HOST: host = '' }: Environment): string {
  const name = URL.parse(host.includes('://') ? host : `https://${host}`)?.hostname ?? ''
  return Object.hasOwn(AUDIENCES, name) ? (AUDIENCES[name] ?? AUDIENCE) : AUDIENCE
}
