/** Settings of the clouds in LiteLLM's entries. */
import { ownReference } from '../../../dataplane/config/document/foreign-references.ts'
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { variableName } from '../names.ts'
import { putKey, putText } from '../upstream-parts.ts'

const OWN_IDENTITY = 'gw reads the identity of the process: set the variables of the cloud there'

/** The name is that of a deployment; `base_model` is the model behind it. */
export function putAzure(entry: Field, upstream: Fields): void {
  const params = entry.at('litellm_params')
  putText(params.at('api_version'), upstream, 'api_version')
  const base = entry.at('model_info', 'base_model')
  const model = base.text?.replace(/^azure\//, '')
  if (model !== undefined) {
    upstream.deployment = upstream.model
    put(base, upstream, 'model', { value: model, note: 'the model behind the deployment' })
    params.at('model').changed('the deployment', upstream, 'deployment')
  }
  const identity = ['azure_ad_token', 'tenant_id', 'client_id', 'client_secret']
  for (const name of identity) if (params.at(name).exists) params.at(name).hasNoPlace(OWN_IDENTITY)
}

interface AtBedrock {
  readonly upstream: Fields
  readonly region: string | undefined
}

export function putBedrock(params: Field, draft: Draft, { upstream, region }: AtBedrock): void {
  const named = params.at('aws_region_name')
  if (named.exists) putText(named, upstream, 'region')
  else if (region !== undefined) upstream.region = region
  else {
    upstream.region = '${env:AWS_REGION}'
    const text = 'The other gateway reads the region from the environment.'
    draft.remarks.push({ owner: upstream, member: 'region', text })
  }
  const variables = {
    aws_access_key_id: 'AWS_ACCESS_KEY_ID',
    aws_secret_access_key: 'AWS_SECRET_ACCESS_KEY',
    aws_session_token: 'AWS_SESSION_TOKEN',
  }
  for (const [name, variable] of Object.entries(variables)) {
    const field = params.at(name)
    if (!field.exists) continue
    if (ownReference(field.text ?? '') === `\${env:${variable}}`)
      field.changed(`gw reads ${variable} by itself`, upstream, 'provider')
    else field.hasNoPlace(OWN_IDENTITY)
  }
}

export function putVertex(params: Field, draft: Draft, upstream: Fields): void {
  const settings = { project: 'vertex_project', region: 'vertex_location' }
  for (const [own, name] of Object.entries(settings)) {
    if (params.at(name).exists) {
      putText(params.at(name), upstream, own)
      continue
    }
    upstream[own] = `\${env:${variableName('VERTEXAI', own === 'region' ? 'LOCATION' : own)}}`
    const text = 'The other gateway reads this variable by itself.'
    draft.remarks.push({ owner: upstream, member: own, text })
  }
  const key = params.at('vertex_credentials')
  const path = key.text
  if (path === undefined) return
  if (/^[\w./~-]+\.json$/.test(path))
    put(key, upstream, 'api_key', { value: `\${file:${path}}`, note: 'the content of the file' })
  else putKey(key, upstream, { variable: variableName(String(upstream.name), 'CREDENTIALS') })
}
