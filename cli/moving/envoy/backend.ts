/** A backend of Envoy AI Gateway, with its address, security and TLS, as an upstream. */
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { putText } from '../upstream-parts.ts'
import { namedIn, type Resources } from './resources.ts'

interface At {
  readonly resources: Resources
  readonly model: string
}

const PROVIDERS: Readonly<Record<string, string>> = {
  OpenAI: 'openai',
  Cohere: 'cohere',
  Anthropic: 'anthropic',
  AzureOpenAI: 'azure_openai',
  AWSBedrock: 'bedrock',
  AWSAnthropic: 'bedrock',
  GCPVertexAI: 'gemini',
}

export function upstreamOf(ref: Field, draft: Draft, { resources, model }: At): Fields | undefined {
  const name = ref.at('name').text ?? ''
  if (ref.at('kind').text === 'InferencePool') return poolOf(ref, draft, model)
  const backend = resources.named('AIServiceBackend', name)
  const schema = backend?.at('spec', 'schema', 'name')
  const provider = PROVIDERS[schema?.text ?? '']
  if (backend === undefined || schema === undefined || provider === undefined) {
    ref.hasNoPlace(
      backend === undefined ? 'the file has no such backend' : 'gw has no such provider',
    )
    return undefined
  }
  const override = ref.at('modelNameOverride')
  const upstream: Fields = { name: draft.names.upstreams.free(name), provider }
  upstream.model = override.text ?? model
  override.kept(upstream, 'model')
  ref.at('name').kept(upstream, 'name')
  schema.changed(`provider ${provider}`, upstream, 'provider')
  const version = backend.at('spec', 'schema', 'version')
  if (provider === 'azure_openai') putText(version, upstream, 'api_version')
  else version.changed('the version that gw writes', upstream, 'provider')
  putAddress(backend, upstream, resources)
  const policy = resources.policyFor('BackendSecurityPolicy', name)
  if (policy !== undefined) putSecurity(policy.at('spec'), upstream)
  if (provider === 'bedrock') upstream.region ??= regionIn(String(upstream.endpoint))
  draft.upstreams.push(upstream)
  return upstream
}

function poolOf(ref: Field, draft: Draft, model: string): Fields {
  const name = ref.at('name').text ?? ''
  const pool: Fields = { name }
  const upstream: Fields = { name: draft.names.upstreams.free(name), provider: 'vllm' }
  Object.assign(upstream, { endpoints: 'pool', pool, model })
  ref.at('name').kept(pool, 'name')
  putText(ref.at('namespace'), pool, 'namespace')
  ref.at('kind').changed('endpoints: pool', upstream, 'endpoints')
  ref.at('group').changed('endpoints: pool', upstream, 'endpoints')
  const text =
    'The other gateway does not name the runtime of a pool; correct it if it is not vLLM.'
  draft.remarks.push({ owner: upstream, member: 'provider', text })
  draft.upstreams.push(upstream)
  return upstream
}

/** Host and port of the Backend; https if a BackendTLSPolicy is for it. */
function putAddress(service: Field, upstream: Fields, resources: Resources): void {
  const reference = service.at('spec', 'backendRef')
  const backend = resources.named('Backend', reference.at('name').text)
  for (const one of reference.members) one.changed('written out', upstream, 'endpoint')
  const endpoint = backend?.at('spec', 'endpoints').items[0]
  const place = endpoint?.at('fqdn').exists === true ? endpoint.at('fqdn') : endpoint?.at('ip')
  const host = place?.at('hostname').text ?? place?.at('address').text
  if (backend === undefined || place === undefined || host === undefined) return
  const tls = resources.policyFor('BackendTLSPolicy', namedIn(backend))
  const isTls = tls !== undefined || place.at('port').number === 443
  const usual = isTls ? 443 : 80
  const port = place.at('port').number ?? usual
  const url = `${isTls ? 'https' : 'http'}://${host}${port === usual ? '' : `:${port}`}`
  const prefix = service.at('spec', 'schema', 'prefix')
  upstream.endpoint = prefix.text === undefined ? url : `${url}/${prefix.text.replace(/^\//, '')}`
  for (const one of [...place.members, prefix])
    one.changed('a part of the URL', upstream, 'endpoint')
  for (const one of tls?.at('spec', 'validation').members ?? []) {
    const isUsual = one.text === host || one.text === 'System'
    if (isUsual) one.changed('gw verifies the certificate of the host', upstream, 'endpoint')
    else one.hasNoPlace('gw verifies the host of the URL; tls.ca_bundle_path adds authorities')
  }
}

/** The key in the Secret, by the type of policy. */
const SECRETS: readonly (readonly [member: string, key: string])[] = [
  ['apiKey', 'apiKey'],
  ['anthropicAPIKey', 'apiKey'],
  ['azureAPIKey', 'apiKey'],
]
const IDENTITY = 'gw reads the identity of the pod or the process: see credentials of upstreams'

function putSecurity(spec: Field, upstream: Fields): void {
  spec.at('type').changed('the credential of the upstream', upstream, 'name')
  for (const [member, key] of SECRETS) {
    const name = spec.at(member, 'secretRef', 'name')
    if (name.text === undefined) continue
    put(name, upstream, 'api_key', {
      value: `\${secret:${name.text}/${key}}`,
      note: 'a key of the Secret',
    })
    spec.at(member, 'secretRef', 'namespace').changed('the namespace of gw', upstream, 'api_key')
  }
  putText(spec.at('awsCredentials', 'region'), upstream, 'region')
  putText(spec.at('gcpCredentials', 'projectName'), upstream, 'project')
  putText(spec.at('gcpCredentials', 'region'), upstream, 'region')
  for (const member of ['awsCredentials', 'azureCredentials', 'gcpCredentials'])
    spec.at(member).hasNoPlace(IDENTITY)
}

function regionIn(endpoint: string): string | undefined {
  return /bedrock-runtime\.([a-z0-9-]+)\./.exec(endpoint)?.[1]
}
