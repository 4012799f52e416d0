/** Parameters that an upstream sets: names and values that are refused, and how explain shows the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain } from '../../../dataplane/config/shown/explain.ts'
import { aDocument, load, type Row, testRefusals } from './documents.ts'

const withParameters = (parameters: string, upstream = 'provider: vllm, model: m') => `  upstreams:
    - name: a
      endpoint: "https://a.example"
      ${upstream.split(', ').join('\n      ')}
      parameters: ${parameters} # here
  routes:
    - {name: r, strategy: single, primary: a}
`

const ROWS: Row[] = [
  {
    name: 'a misspelt parameter',
    yaml: withParameters('{default: {temperatur: 0.2}}'),
    path: 'gw.upstreams[0].parameters.default.temperatur',
    says: 'vllm has no parameter "temperatur" that the gateway knows; did you mean "temperature"?',
    fix: 'Write other members of its API below extra_body',
  },
  {
    name: 'a misspelt parameter of the vendor',
    yaml: withParameters('{default: {repetition_penalti: 1.1}}'),
    path: 'gw.upstreams[0].parameters.default.repetition_penalti',
    says: 'did you mean "repetition_penalty"?',
    fix: 'Use one of: temperature',
  },
  {
    name: 'a temperature that no model accepts',
    yaml: withParameters('{force: {temperature: 3}}'),
    path: 'gw.upstreams[0].parameters.force.temperature',
    says: 'must be a number from 0 to 2',
    fix: 'Correct the value',
  },
  {
    name: 'an unknown effort',
    yaml: withParameters('{default: {reasoning_effort: huge}}'),
    path: 'gw.upstreams[0].parameters.default.reasoning_effort',
    says: 'must be one of: none, minimal, low',
    fix: 'Correct the value',
  },
  {
    name: 'a limit of half a token',
    yaml: withParameters('{force: {max_tokens: 1.5}}'),
    path: 'gw.upstreams[0].parameters.force.max_tokens',
    says: 'must be a whole number from 1',
    fix: 'Correct the value',
  },
  ...['model', 'messages', 'stream', 'n', 'user', 'tools', 'cache_salt'].map((name) => ({
    name: `${name}, which the gateway sets`,
    yaml: withParameters(`{force: {${name}: 1}}`),
    path: `gw.upstreams[0].parameters.force.${name}`,
    says: `the gateway itself sets "${name}" from the request of the client`,
    fix: 'Remove it',
  })),
  {
    name: 'a member of the gateway in the body of the vendor',
    yaml: withParameters('{force: {extra_body: {stream_options: {}}}}'),
    path: 'gw.upstreams[0].parameters.force.extra_body.stream_options',
    says: 'the gateway itself sets "stream_options"',
    fix: 'Remove it',
  },
  {
    name: 'a limit of tokens in the body of the vendor',
    yaml: withParameters(
      '{force: {extra_body: {generationConfig: {maxOutputTokens: 5}}}}',
      'provider: gemini, model: gemini-2.5-flash, api_key: "${env:K}"',
    ),
    path: 'gw.upstreams[0].parameters.force.extra_body.generationConfig.maxOutputTokens',
    says: 'the gateway itself sets the limit of tokens',
    fix: 'Write max_tokens beside extra_body',
  },
  {
    name: 'a known parameter in the body of the vendor',
    yaml: withParameters('{default: {extra_body: {top_p: 0.5}}}'),
    path: 'gw.upstreams[0].parameters.default.extra_body.top_p',
    says: '"top_p" is a parameter that the gateway knows',
    fix: 'Move it out of extra_body',
  },
  {
    name: 'a body of the vendor that is too large',
    yaml: withParameters(`{default: {extra_body: {a: ${'x'.repeat(20_000)}}}}`),
    path: 'gw.upstreams[0].parameters.default.extra_body',
    says: 'must have at most 16384 bytes',
    fix: 'Make it shorter',
  },
  {
    name: 'a default that force replaces',
    yaml: withParameters('{default: {max_tokens: 5}, force: {max_completion_tokens: 9}}'),
    path: 'gw.upstreams[0].parameters.default.max_tokens',
    says: 'cannot take effect: force sets it for every request',
    fix: 'Remove one of them',
  },
  {
    name: 'two names of one limit',
    yaml: withParameters('{default: {max_tokens: 5, max_completion_tokens: 9}}'),
    path: 'gw.upstreams[0].parameters.default.max_completion_tokens',
    says: 'means the same as max_tokens',
    fix: 'Write one of them',
  },
  {
    name: 'parameters that set nothing',
    yaml: withParameters('{}'),
    path: 'gw.upstreams[0].parameters',
    says: 'sets nothing',
    fix: 'Add default: or force:',
  },
  {
    name: 'too many parameters',
    yaml: withParameters(
      `{default: {${Array.from({ length: 33 }, (_, index) => `p${index}: 1`).join(', ')}}}`,
    ),
    path: 'gw.upstreams[0].parameters.default',
    says: 'must have at most 32 parameters',
    fix: '',
  },
  {
    name: 'a parameter that the API of the provider lacks',
    yaml: withParameters(
      '{default: {seed: 7}}',
      'provider: anthropic, model: claude-sonnet-4-5, api_key: "${env:K}"',
    ),
    path: 'gw.upstreams[0].parameters.default.seed',
    says: 'cannot take effect: anthropic has no such parameter for the model "claude-sonnet-4-5"',
    fix: 'Remove it',
  },
  {
    name: 'a parameter that the model does not accept',
    yaml: withParameters(
      '{default: {reasoning_effort: low}}',
      'provider: openai, model: gpt-4o, api_key: "${env:K}"',
    ),
    path: 'gw.upstreams[0].parameters.default.reasoning_effort',
    says: 'cannot take effect: openai has no such parameter for the model "gpt-4o"',
    fix: 'Remove it',
  },
]

testRefusals(ROWS)

test('explain shows the parameters of each upstream', () => {
  const yaml = withParameters(
    '{default: {temperature: 0.2, top_k: 40}, force: {max_tokens: 100, extra_body: {a: {b: 1}}}}',
  )
  const { configuration } = load(aDocument(yaml))
  assert.ok(configuration)
  assert.match(
    explain(configuration),
    /parameters: a sets by default temperature: 0\.2, top_k: 40; in every request max_tokens: 100, extra_body\.a/,
  )
})
