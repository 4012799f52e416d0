/** Upstreams without what their provider needs, and literal credentials. */
import { PROVIDER_NAMES } from '../../../dataplane/providers/index.ts'
import { type Row, testRefusals } from './documents.ts'

const known = PROVIDER_NAMES.map((name) => `"${name}"`)

function upstream(fields: string): string {
  return `  upstreams:\n    - name: a\n      model: m\n${fields.replace(/^/gm, '      ')}
    - {name: b, provider: openai, model: m, api_key: "\${env:KEY}"}\n`
}

const PROVIDERS: Row[] = [
  {
    name: 'a self-hosted runtime without an endpoint',
    yaml: upstream('provider: vllm').replace('name: a', 'name: a # here'),
    path: 'gw.upstreams[0].endpoint',
    says: 'required: vllm is a self-hosted runtime',
    fix: 'http://host:8000',
  },
  {
    name: "a service that speaks OpenAI's API",
    yaml: upstream('provider: lm-studio # here'),
    path: 'gw.upstreams[0].provider',
    says: 'unknown provider "lm-studio"',
    fix: 'Write provider: openai and endpoint: http://localhost:1234/v1.',
  },
  {
    name: 'an unknown provider',
    yaml: upstream('provider: zzz # here'),
    path: 'gw.upstreams[0].provider',
    says: 'unknown provider "zzz"',
    fix: 'OpenRouter, Groq, DeepSeek',
  },
  {
    name: 'azure without an endpoint',
    yaml: upstream('provider: azure\napi_key: ${env:KEY}').replace('name: a', 'name: a # here'),
    path: 'gw.upstreams[0].endpoint',
    says: 'address for each resource',
    fix: 'openai.azure.com',
  },
  {
    name: 'an extra that is not known',
    yaml: upstream('provider: openai\nallow: [everything] # here'),
    path: 'gw.upstreams[0].allow[0]',
    says: 'unknown allow "everything"',
    fix: '"web_search"',
  },
  {
    name: 'an extra that the provider does not have',
    yaml: upstream('provider: openai\nallow: [speed] # here'),
    path: 'gw.upstreams[0].allow[0]',
    says: 'cannot take effect: openai has no speed',
    fix: 'anthropic use it',
  },
  {
    name: 'an extra twice',
    yaml: upstream('provider: openai\nallow: [files, files] # here'),
    path: 'gw.upstreams[0].allow[1]',
    says: 'files is there twice',
    fix: 'Remove one of them',
  },
  {
    name: 'a choice between endpoints where there is one',
    yaml: upstream('provider: openai\nbalance: affinity # here'),
    path: 'gw.upstreams[0].balance',
    says: 'the upstream has one endpoint',
    fix: 'Add endpoints: dns',
  },
  {
    name: 'pods behind a name outside of the cluster',
    yaml: upstream('provider: vllm\nendpoint: https://api.example.com/v1\nendpoints: pods # here'),
    path: 'gw.upstreams[0].endpoints',
    says: 'not the name of a Service',
    fix: 'Write http://SERVICE.NAMESPACE.svc:PORT',
  },
  {
    name: 'a pool that no requests go to',
    yaml: upstream('provider: vllm\nendpoint: http://a:8000\npool: {name: chat} # here'),
    path: 'gw.upstreams[0].pool',
    says: 'requests do not go to it',
    fix: 'Add endpoints: pool',
  },
  {
    name: 'a pool outside of a cluster',
    yaml: upstream('provider: vllm\npool: {name: chat}\nendpoints: pool # here'),
    path: 'gw.upstreams[0].endpoints',
    says: 'needs the operator',
    fix: 'Run the gateway in the cluster',
  },
  {
    name: 'a pool with a separate address',
    yaml: upstream(
      'provider: vllm\npool: {name: chat}\nendpoints: pool\nendpoint: http://a:8000 # here',
    ),
    path: 'gw.upstreams[0].endpoint',
    says: 'the pool says where its pods are',
    fix: 'Remove it',
  },
  {
    name: 'a pool without a name',
    yaml: upstream('provider: vllm\nendpoints: pool').replace('name: a', 'name: a # here'),
    path: 'gw.upstreams[0].pool',
    says: 'required',
    fix: 'Write pool: {name: NAME}',
  },
  {
    name: 'a pool of a hosted API',
    yaml: upstream(
      'provider: openai\napi_key: ${env:KEY}\npool: {name: chat}\nendpoints: pool # here',
    ),
    path: 'gw.upstreams[0].endpoints',
    says: 'openai is a hosted API',
    fix: 'Name the runtime',
  },
  {
    name: 'a salt that the upstream does not take',
    yaml: upstream('provider: openai\ncache_salt: tenant # here'),
    path: 'gw.upstreams[0].cache_salt',
    says: 'openai takes no salt',
    fix: 'Remove it; vllm use it',
  },
  {
    name: 'cache marks for an API without them',
    yaml: upstream('provider: openai\ncache: auto # here'),
    path: 'gw.upstreams[0].cache',
    says: 'cannot take effect: openai has no cache marks',
    fix: 'Remove it; anthropic, bedrock use it',
  },
  {
    name: 'cache marks for a model that takes none',
    yaml: upstream('provider: bedrock\nregion: us-east-1\ncache: auto # here').replace(
      'model: m',
      'model: meta.llama3-3-70b-instruct-v1:0',
    ),
    path: 'gw.upstreams[0].cache',
    says: 'cannot take effect: bedrock takes none for meta.llama3-3-70b-instruct-v1:0',
    fix: 'Remove it; anthropic, bedrock use it',
  },
  {
    name: 'a header of a caller with no fact about it',
    yaml: upstream('provider: openai\ncaller_headers:\n  x-team: team # here'),
    path: 'gw.upstreams[0].caller_headers.x-team',
    says: 'no fact about a caller',
    fix: 'tenant, key or route',
  },
  {
    name: 'a header of a caller that is sent already',
    yaml: upstream(
      'provider: openai\nheaders: {X-Team: a}\ncaller_headers:\n  x-team: tenant # here',
    ),
    path: 'gw.upstreams[0].caller_headers.x-team',
    says: 'sent already',
    fix: 'Take another name',
  },
  {
    name: 'an unknown zone',
    yaml: upstream(
      'provider: vllm\nendpoint: http://a:8000\nendpoints: dns\nprefer_zone: true # here',
    ),
    path: 'gw.upstreams[0].prefer_zone',
    says: 'only the operator knows the zones',
    fix: 'Add endpoints: pods or pool',
  },
  {
    name: 'a header that names conversations where the load decides',
    yaml: upstream('provider: openai\nendpoints: dns\nbalance_header: x-chat # here'),
    path: 'gw.upstreams[0].balance_header',
    says: 'endpoints are chosen by their load',
    fix: 'Add balance: affinity',
  },
  {
    name: 'a wait for an API that is always up',
    yaml: upstream('provider: openai\napi_key: ${env:KEY}\ncold_start: {} # here'),
    path: 'gw.upstreams[0].cold_start',
    says: 'the API of openai is always up',
    fix: 'Remove it.',
  },
  {
    name: 'a wait behind a proxy',
    yaml: `${upstream('provider: vllm\nendpoint: http://chat:8000\ncold_start: {} # here')}  http_proxy: http://proxy:3128\n`,
    path: 'gw.upstreams[0].cold_start',
    says: 'http_proxy is between',
    fix: 'no_proxy',
  },
  {
    name: 'a wait that is preferred to fallbacks that are not there',
    yaml: upstream(
      'provider: vllm\nendpoint: http://chat:8000\ncold_start: {prefer_wait: true} # here',
    ),
    path: 'gw.upstreams[0].cold_start.prefer_wait',
    says: 'no route with primary_with_fallback has it as its primary',
    fix: 'Remove it.',
  },
  {
    name: 'endpoints behind a proxy',
    yaml: `${upstream('provider: vllm\nendpoint: http://chat:8000\nendpoints: dns # here')}  http_proxy: http://proxy:3128\n`,
    path: 'gw.upstreams[0].endpoints',
    says: 'http_proxy chooses the address',
    fix: 'Add its host to no_proxy',
  },
  {
    name: 'bedrock without a region',
    yaml: upstream('provider: bedrock').replace('name: a', 'name: a # here'),
    path: 'gw.upstreams[0].region',
    says: 'address for each region',
    fix: 'eu-central-1',
  },
  {
    name: 'a region that would be another host',
    yaml: upstream('provider: bedrock\nregion: evil.example/ # here'),
    path: 'gw.upstreams[0].region',
    says: 'is not the name of a region',
    fix: 'eu-central-1',
  },
  {
    name: 'a native API that is listed twice',
    yaml: upstream('native:\n  - responses\n  - messages\n  - responses # here'),
    path: 'gw.upstreams[0].native[2]',
    says: 'duplicate native API "responses"; first at gw.upstreams[0].native[0]',
    fix: 'Remove one',
  },
  {
    name: 'an API that requests are not passed to',
    yaml: upstream('provider: cohere\napi_key: ${env:KEY}\nnative:\n  - responses # here'),
    path: 'gw.upstreams[0].native[0]',
    says: 'requests are not passed to cohere as responses',
    fix: 'vllm, sglang, llamacpp, openai, azure_openai may have it',
  },
  {
    name: 'a hosted API without a credential',
    yaml: upstream('provider: openai').replace('name: a', 'name: a # here'),
    path: 'gw.upstreams[0].api_key',
    says: 'without a credential',
    fix: '${env:NAME}',
  },
  {
    name: 'an unknown provider: the fix names only those that work',
    yaml: upstream('provider: vlm # here\nendpoint: http://a'),
    path: 'gw.upstreams[0].provider',
    says: 'unknown provider "vlm"; did you mean "vllm"?',
    fix: `Use one of: ${known.join(', ')}.`,
  },
  {
    name: 'a provider with the name of what every object has',
    yaml: upstream('provider: constructor # here\nendpoint: http://a'),
    path: 'gw.upstreams[0].provider',
    says: 'unknown provider "constructor"',
    fix: `Use one of: ${known.join(', ')}.`,
  },
  {
    name: 'a region that a runtime ignores',
    yaml: upstream('provider: vllm\nendpoint: http://a\nregion: eu # here'),
    path: 'gw.upstreams[0].region',
    says: 'vllm has no region',
    fix: 'Remove it',
  },
  {
    name: 'a project without its region',
    yaml: upstream('provider: gemini\napi_key: ${env:KEY}\nproject: p # here'),
    path: 'gw.upstreams[0].project',
    says: 'without region',
    fix: 'Add region',
  },
  {
    name: 'a purpose of vectors that a runtime ignores',
    yaml: upstream(
      'provider: vllm\nendpoint: http://a\nembeddings:\n  input_type: search_query # here',
    ),
    path: 'gw.upstreams[0].embeddings.input_type',
    says: 'vllm asks for no purpose of vectors',
    fix: 'cohere',
  },
  {
    name: 'a credential that a pipeline has emptied',
    yaml: upstream('provider: openai\napi_key: "" # here'),
    path: 'gw.upstreams[0].api_key',
    says: 'is empty',
    fix: 'Did Flux substitute it?',
  },
  {
    name: 'a header of which a pipeline has left the scheme',
    yaml: upstream('provider: openai\nheaders:\n  Authorization: "Bearer " # here'),
    path: 'gw.upstreams[0].headers.Authorization',
    says: 'holds no credential',
    fix: 'Did Flux substitute it?',
  },
  {
    name: 'a literal credential',
    yaml: upstream('provider: openai\napi_key: sk-secret # here'),
    path: 'gw.upstreams[0].api_key',
    says: 'never a literal',
    fix: '${secret:NAME/KEY}',
  },
  {
    name: 'a credential that is partly literal',
    yaml: upstream('provider: openai\napi_key: Bearer ${env:KEY} # here'),
    path: 'gw.upstreams[0].api_key',
    says: 'never a literal',
    fix: '${secret:NAME/KEY}',
  },
  {
    name: 'a literal credential in a header',
    yaml: upstream('provider: openai\nheaders:\n  X-Api-Key: abc # here'),
    path: 'gw.upstreams[0].headers.X-Api-Key',
    says: 'never a literal',
    fix: '${env:NAME}',
  },
  {
    name: 'two tokenizers',
    yaml: upstream(
      'provider: vllm\nendpoint: http://a\ntokenizer: {encoding: o200k_base, upstream: true} # here',
    ),
    path: 'gw.upstreams[0].tokenizer',
    says: 'several tokenizers',
    fix: 'Keep one',
  },
  {
    name: 'the tokenizer of a runtime that has no path for it',
    yaml: upstream('provider: ollama\nendpoint: http://a\ntokenizer: {upstream: true} # here'),
    path: 'gw.upstreams[0].tokenizer.upstream',
    says: 'no path that counts tokens',
    fix: 'llamacpp',
  },
  {
    name: 'queue metrics of a hosted API',
    yaml: upstream('provider: openai\nqueue_metrics: {} # here'),
    path: 'gw.upstreams[0].queue_metrics',
    says: 'hosted API',
    fix: 'self-hosted',
  },
  {
    name: 'a hosted health check without a path',
    yaml: upstream('provider: openai\nhealth_check: {interval_seconds: 5} # here'),
    path: 'gw.upstreams[0].health_check.path',
    says: 'no usual health path',
    fix: 'Add path',
  },
  {
    name: 'connecting for longer than the whole timeout',
    yaml: upstream(
      'provider: vllm\nendpoint: http://a\ntimeout_seconds: 3\nconnect_timeout_seconds: 5 # here',
    ),
    path: 'gw.upstreams[0].connect_timeout_seconds',
    says: 'cannot be reached',
    fix: 'at most 3',
  },
]

testRefusals(PROVIDERS)
