/** Credentials of a provider in Bifrost's `keys[]`. */
import { ownReference } from '../../../dataplane/config/document/foreign-references.ts'
import { type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { variableName } from '../names.ts'
import type { Service } from '../providers.ts'
import { putEndpoint, putKey, putText } from '../upstream-parts.ts'

interface KeyUse {
  readonly service: Service
  readonly model: string
}

export function putKeyOf(key: Field, upstream: Fields, { service, model }: KeyUse): void {
  const named = key.at('name').text ?? key.at('id').text ?? String(upstream.name)
  const variable = variableName(named, 'API_KEY')
  putKey(key.at('value'), upstream, { variable, service })
  for (const name of ['name', 'id'])
    key.at(name).changed(`the upstream ${String(upstream.name)}`, upstream, 'name')
  putAzure(key.at('azure_key_config'), upstream, model)
  const vertex = key.at('vertex_key_config')
  putText(vertex.at('project_id'), upstream, 'project')
  putText(vertex.at('region'), upstream, 'region')
  putKey(vertex.at('auth_credentials'), upstream, { variable: variableName(named, 'CREDENTIALS') })
  putBedrock(key.at('bedrock_key_config'), upstream)
  const own = key.at(`${service.provider}_key_config`, 'url')
  putEndpoint(own, upstream)
}

function putAzure(config: Field, upstream: Fields, model: string): void {
  putEndpoint(config.at('endpoint'), upstream)
  putText(config.at('api_version'), upstream, 'api_version')
  const deployment = config.at('deployments', model)
  if (deployment.text === undefined) return
  if (deployment.text === model) deployment.changed('the name of the model', upstream, 'model')
  else put(deployment, upstream, 'deployment', {})
}

const OWN_IDENTITY = 'gw reads the identity of the process: set the variables of the cloud there'

function putBedrock(config: Field, upstream: Fields): void {
  putText(config.at('region'), upstream, 'region')
  const variables = {
    access_key: 'AWS_ACCESS_KEY_ID',
    secret_key: 'AWS_SECRET_ACCESS_KEY',
    session_token: 'AWS_SESSION_TOKEN',
  }
  for (const [name, variable] of Object.entries(variables)) {
    const field = config.at(name)
    if (!field.exists) continue
    if (ownReference(field.text ?? '') === `\${env:${variable}}`)
      field.changed(`gw reads ${variable} by itself`, upstream, 'provider')
    else field.hasNoPlace(OWN_IDENTITY)
  }
}
