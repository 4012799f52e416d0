/** The configuration that `gw init` writes, with a comment for each part. */
import { stringify } from 'yaml'
import type { ApiKeyRecord } from '../../dataplane/schema/keys.ts'
import type { Answers } from './questions.ts'

export const ROUTE = 'chat'

const USUAL_PORT = 8080

/** The gateway cannot listen where a model server of this machine does. */
export function listenPortBeside(endpoint: string | undefined): number {
  return endpoint !== undefined && URL.parse(endpoint)?.port === String(USUAL_PORT)
    ? USUAL_PORT + 1
    : USUAL_PORT
}

export function firstDocument(answers: Answers, record: ApiKeyRecord, file: string): string {
  const { provider, model, apiKeyEnv, endpoint, region } = answers
  const upstream = {
    name: 'main',
    provider,
    model,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(apiKeyEnv !== undefined && { api_key: `\${env:${apiKeyEnv}}` }),
  }
  const route = { name: ROUTE, strategy: 'single', primary: 'main' }
  const { scopes: _, ...shown } = record
  const port = listenPortBeside(endpoint)
  return `\
# Check a change with: gw config validate ${file}. A running gateway takes it when you save.
apiVersion: inference.gw/v1
kind: GatewayConfig
gw:
  gateway:
    # Clients call http://127.0.0.1:${port}/v1. Only programs of this machine may, until you write 0.0.0.0.
    listen_address: 127.0.0.1
    listen_port: ${port}
  # Where requests are sent.
  upstreams:
${listed(upstream)}
  # The names that clients send as "model".
  routes:
${listed(route)}
  # Who may call. This is the hash of the key; the key itself was shown once.
  api_keys:
${listed(shown)}
  # How much each team may ask.
  rate_limits:
    default:
      requests_per_minute: 120
      burst: 30
      concurrent_requests: 16
`
}

function listed(entry: object): string {
  return stringify([entry], { lineWidth: 0 }).trimEnd().replaceAll(/^/gm, '    ')
}
