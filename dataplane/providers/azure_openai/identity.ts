/** The identity of the process at Microsoft Entra ID: a client secret, a pod's federated token, or a managed identity. */
import type { TokenCredential } from '@azure/identity'
import { recordOf, textOf } from '../../json/values.ts'
import type { CredentialSource, Environment } from '../../wire/credential-source.ts'

type Sdk = typeof import('@azure/identity')

/** The audience of tokens for models, by the host that signs in to each public cloud. */
const AUDIENCES: Readonly<Record<string, string>> = {
  'login.microsoftonline.com': 'https://cognitiveservices.azure.com',
  'login.microsoftonline.us': 'https://cognitiveservices.azure.us',
  'login.chinacloudapi.cn': 'https://cognitiveservices.azure.cn',
}
const USUAL = 'login.microsoftonline.com'

export function entraIdentity(env: Environment): CredentialSource {
  const host = hostIn(env.AZURE_AUTHORITY_HOST) ?? USUAL
  const isKnown = Object.hasOwn(AUDIENCES, host)
  const scope = `${AUDIENCES[isKnown ? host : USUAL]}/.default`
  return {
    from: 'Microsoft Entra ID',
    async fetch(signal) {
      const sdk = await import('@azure/identity')
      // A new object has no cache, so each call fetches a new token.
      const credential = credentialOf(sdk, env, { disableInstanceDiscovery: !isKnown })
      const token = await credential
        .getToken(scope, { abortSignal: signal })
        .catch((error: unknown) => Promise.reject(new Error(wordsOf(error))))
      if (token === null) throw new Error('It gave no token.')
      return { value: token.token, expiresAtMs: token.expiresOnTimestamp }
    },
  }
}

/** The public list of login hosts, which the SDK checks, does not include private clouds. */
interface Discovery {
  readonly disableInstanceDiscovery: boolean
}

/**
 * Chosen by the variables that the SDK reads: the first kind with a variable, because its error explains a failure
 * best.
 */
function credentialOf(sdk: Sdk, env: Environment, discovery: Discovery): TokenCredential {
  if (env.AZURE_TOKEN_CREDENTIALS) return new sdk.DefaultAzureCredential(discovery)
  if (env.AZURE_CLIENT_SECRET || env.AZURE_CLIENT_CERTIFICATE_PATH) {
    return new sdk.EnvironmentCredential(discovery)
  }
  if (env.AZURE_FEDERATED_TOKEN_FILE) return new sdk.WorkloadIdentityCredential(discovery)
  const clientId = env.AZURE_CLIENT_ID
  return new sdk.ManagedIdentityCredential(clientId ? { clientId } : {})
}

/** The message of the service, without the SDK's text around it. */
function wordsOf(error: unknown): string {
  const { errorResponse, message } = recordOf(error)
  return textOf(recordOf(errorResponse).errorDescription) ?? String(message)
}

function hostIn(authority: string | undefined): string | undefined {
  if (!authority) return undefined
  return URL.parse(authority.includes('://') ? authority : `https://${authority}`)?.host
}
