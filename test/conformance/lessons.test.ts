/** The error texts of vendors show how their model accepts a request; the request is then sent that way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import type { Capabilities } from '../../dataplane/wire/models/capabilities.ts'
import { sentBy } from '../helpers/providers/sent-by.ts'

type Name =
  | 'openai'
  | 'azure_openai'
  | 'vllm'
  | 'anthropic'
  | 'bedrock'
  | 'gemini'
  | 'cohere'
  | 'ollama'

/** An error in the vendor's own form. */
function bodyOf(provider: Name, message: string, param: string | null): object {
  if (provider === 'bedrock' || provider === 'cohere') return { message }
  if (provider === 'ollama') return { error: message }
  if (provider === 'gemini') return { error: { code: 400, message, status: 'INVALID_ARGUMENT' } }
  const error = { message, type: 'invalid_request_error' }
  return provider === 'anthropic'
    ? { type: 'error', error }
    : { error: { ...error, param, code: null } }
}

function taught(provider: Name, message: string, param: string | null = null, status = 400) {
  const body = Buffer.from(JSON.stringify(bodyOf(provider, message, param)))
  const { workaround } = PROVIDERS.get(provider)?.classify(status, {}, body) ?? {}
  return typeof workaround === 'object' ? workaround.teaches : workaround
}

interface Row {
  readonly name: string
  readonly provider: Name
  readonly says: string
  readonly param?: string
  readonly status?: number
  readonly facts: Capabilities
}

const ROWS: readonly Row[] = [
  {
    name: 'max_tokens, if the model requires max_completion_tokens',
    provider: 'openai',
    says: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param: 'max_tokens',
    facts: { limitMember: 'max_completion_tokens' },
  },
  {
    name: 'max_completion_tokens, if a server is older',
    provider: 'vllm',
    says: 'Unrecognized request argument supplied: max_completion_tokens',
    facts: { limitMember: 'max_tokens' },
  },
  {
    name: 'a temperature',
    provider: 'azure_openai',
    says: "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    param: 'temperature',
    facts: { refused: ['temperature'] },
  },
  {
    name: 'a hint in a list of parameters',
    provider: 'openai',
    says: 'Validation: Unsupported parameter(s): prompt_cache_key',
    facts: { refused: ['prompt_cache_key'] },
  },
  {
    name: 'an effort of a model that does not reason',
    provider: 'openai',
    says: 'Unrecognized request argument supplied: reasoning_effort',
    facts: { reasons: false, refused: ['reasoning_effort'] },
  },
  {
    name: 'an effort of a model of another service',
    provider: 'openai',
    says: 'Model grok-build-0.1 does not support parameter reasoningEffort.',
    facts: { reasons: false, refused: ['reasoning_effort'] },
  },
  {
    name: 'one of several efforts',
    provider: 'openai',
    says: "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
    facts: { efforts: ['minimal', 'low', 'medium', 'high'] },
  },
  {
    name: 'one of several efforts in a response',
    provider: 'openai',
    says: "Unsupported value: 'none' is not supported with the 'gpt-5.1-codex' model. Supported values are: 'low', 'medium', and 'high'.",
    param: 'reasoning.effort',
    facts: { efforts: ['low', 'medium', 'high'] },
  },
  {
    name: 'functions with an effort in a chat',
    provider: 'openai',
    says: "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    param: 'reasoning_effort',
    facts: { responses: 'with_tools' },
  },
  {
    name: 'chats as a whole',
    provider: 'openai',
    says: 'This model is only supported in v1/responses and not in v1/chat/completions.',
    status: 404,
    facts: { responses: 'always' },
  },
  {
    name: 'a name of a tool',
    provider: 'vllm',
    says: "Invalid 'tools[43].function.name': string too long. Expected a string with maximum length 64, but got a string with length 71 instead.",
    facts: { nameMax: 64 },
  },
  {
    name: 'an id of a call',
    provider: 'vllm',
    says: "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 65 instead.",
    facts: { idMax: 40 },
  },
  {
    name: 'a limit',
    provider: 'openai',
    says: 'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
    param: 'max_tokens',
    facts: { outputTokens: 16_384, outputMost: 16_384 },
  },
  {
    name: 'cache marks',
    provider: 'openai',
    says: 'tools.3.cache_control: Extra inputs are not permitted',
    facts: { marks: false },
  },
  {
    name: 'thinking in a history',
    provider: 'openai',
    says: "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    facts: { thinkingMember: 'none' },
  },
  {
    name: 'a budget of thinking',
    provider: 'anthropic',
    says: '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    facts: { thinking: 'adaptive', budgets: false, summary: true },
  },
  {
    name: 'no thinking',
    provider: 'bedrock',
    says: '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    facts: { thinkingOff: 'never' },
  },
  {
    name: 'adaptive thinking',
    provider: 'anthropic',
    says: 'adaptive thinking is not supported on this model',
    facts: { thinking: 'budget' },
  },
  {
    name: 'an effort',
    provider: 'anthropic',
    says: 'This model does not support the effort parameter.',
    facts: { efforts: [] },
  },
  {
    name: 'a temperature',
    provider: 'anthropic',
    says: '`temperature` is deprecated for this model.',
    facts: { sampling: false, refused: ['temperature', 'top_p', 'top_k'] },
  },
  {
    name: 'a limit',
    provider: 'anthropic',
    says: 'max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x',
    facts: { outputTokens: 64_000, outputMost: 64_000 },
  },
  {
    name: 'a name of a tool',
    provider: 'bedrock',
    says: "1 validation error detected: Value at 'toolConfig.tools.111.member.toolSpec.name' failed to satisfy constraint: Member must have length less than or equal to 64",
    facts: { nameMax: 64 },
  },
  {
    name: 'a mark for the cache',
    provider: 'bedrock',
    says: 'Malformed input request: #/messages/6/content/0: extraneous key [cachePoint] is not permitted, please reformat your input and try again.',
    facts: { marks: false },
  },
  {
    name: 'a level of thinking',
    provider: 'gemini',
    says: 'Thinking level is not supported for this model.',
    facts: { thinking: 'budget' },
  },
  {
    name: 'no thinking',
    provider: 'gemini',
    says: 'Budget 0 is invalid. This model only works in thinking mode.',
    facts: { thinkingOff: 'never' },
  },
  {
    name: 'thinking',
    provider: 'ollama',
    says: '"llama3.2:3b" does not support thinking',
    facts: { reasons: false, refused: ['reasoning_effort'] },
  },
  {
    name: 'thinking',
    provider: 'cohere',
    says: 'thinking is not supported by this model',
    facts: { reasons: false, refused: ['reasoning_effort'] },
  },
]

for (const { name, provider, says, param, status, facts } of ROWS)
  test(`${provider}: a refusal of ${name} teaches ${Object.keys(facts).join(', ')}`, () => {
    assert.deepEqual(taught(provider, says, param, status), facts)
  })

test('a refusal of a member with a meaning, or for another cause, teaches nothing', () => {
  for (const [message, param] of [
    ["Unsupported parameter: 'tools' is not supported with this model.", 'tools'],
    [
      "Unsupported parameter: 'response_format' is not supported with this model.",
      'response_format',
    ],
    ["Unsupported value: 'n' does not support 2 with this model.", 'n'],
    ["Unsupported parameter: 'stop' is not supported with this model.", 'stop'],
    ['Invalid value: temperature must be a number', 'temperature'],
    ['The messages must alternate', null],
  ] as const)
    assert.equal(taught('openai', message, param), undefined, message)
})

test('a failure of the server teaches nothing', () => {
  const says = 'Unrecognized request argument supplied: reasoning_effort'
  for (const status of [401, 429, 500, 503])
    assert.equal(taught('openai', says, null, status), undefined)
})

test('a signature of another account is left out only of this request', () => {
  assert.equal(
    taught('anthropic', 'messages.1.content.0: Invalid `signature` in `thinking` block'),
    'unsealed',
  )
})

test('later requests use the learnt facts', () => {
  const sent = (
    provider: 'openai' | 'vllm' | 'anthropic',
    capabilities: Capabilities,
    members: object,
  ) => sentBy({ api: 'chat', provider, model: 'm', settings: { capabilities } }, members).body
  assert.equal(
    sent('vllm', { limitMember: 'max_tokens' }, { max_completion_tokens: 5 }).max_tokens,
    5,
  )
  assert.equal(sent('openai', { outputMost: 10 }, { max_tokens: 99 }).max_tokens, 10)
  const thinking = { reasoning_effort: 'high', max_tokens: 60_000 }
  assert.equal(
    sent('anthropic', { thinking: 'budget', efforts: [] }, thinking).thinking.type,
    'enabled',
  )
  assert.equal(sent('anthropic', { efforts: [] }, thinking).output_config, undefined)
})
