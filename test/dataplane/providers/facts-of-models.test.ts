/** The tables of hosted models: the first row with a fact wins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  capabilitiesOf,
  encodingOfModel,
  knownWindow,
} from '../../../dataplane/providers/facts-of-models.ts'
import { PROVIDER_FACTS } from '../../../dataplane/providers/index.ts'

const ENCODINGS = [
  ['openai', 'gpt-4o', 'o200k_base'],
  ['openai', 'gpt-4o-2024-08-06', 'o200k_base'],
  ['openai', 'gpt-4.5-preview', 'o200k_base'],
  ['openai', 'gpt-5.1', 'o200k_base'],
  ['openai', 'o3-mini', 'o200k_base'],
  ['openai', 'gpt-4-turbo', 'cl100k_base'],
  ['openai', 'gpt-3.5-turbo', 'cl100k_base'],
  ['openai', 'ft:gpt-3.5-turbo:acme::id', 'cl100k_base'],
  ['azure_openai', 'gpt-35-turbo', 'cl100k_base'],
  ['openai', 'gpt-45', undefined],
  ['openai', 'my-model', undefined],
  ['anthropic', 'claude-sonnet-4-5', undefined],
  ['vllm', 'gpt-4o', undefined],
] as const

for (const [provider, model, encoding] of ENCODINGS) {
  test(`${model} of ${provider} has ${encoding ?? 'no known encoding'}`, () => {
    assert.equal(encodingOfModel({ provider, model }), encoding)
  })
}

const WINDOWS = [
  ['anthropic', 'claude-opus-4-6', 1_000_000],
  ['anthropic', 'claude-sonnet-5-5', 1_000_000],
  ['anthropic', 'claude-haiku-4-5-20251001', 200_000],
  ['bedrock', 'us.anthropic.claude-opus-5-v1:0', 1_000_000],
  ['openai', 'gpt-5.6-terra', 1_050_000],
  ['openai', 'gpt-5.4-mini', 400_000],
  ['azure_openai', 'gpt-4o', 128_000],
  ['gemini', 'publishers/google/models/gemini-3.5-flash', 1_048_576],
  ['mistral', 'mistral-large-2512', 262_144],
  ['mistral', 'mistral-large-4', 1_048_576],
  ['openai', 'mistral-large-2512', 262_144],
  ['vllm', 'gpt-4o', undefined],
] as const

for (const [provider, model, window] of WINDOWS)
  test(`${model} of ${provider} holds ${window ?? 'an unknown number of'} tokens`, () => {
    assert.equal(knownWindow({ provider, model }), window)
  })

test('a written window wins', () => {
  assert.equal(knownWindow({ provider: 'openai', model: 'gpt-4o', context_window: 1_000 }), 1_000)
})

test('Claude 4.6 answers with up to 128,000 tokens, Claude 4.5 with half of them', () => {
  const most = (model: string) => capabilitiesOf({ provider: 'anthropic', model }).outputTokens
  assert.deepEqual(
    ['claude-sonnet-4-6', 'claude-opus-4-6', 'claude-sonnet-4-5', 'claude-opus-4-1-20250805'].map(
      most,
    ),
    [128_000, 128_000, 64_000, 32_000],
  )
})

test('each row has the date on which its source was read', () => {
  for (const { name, models = [] } of Object.values(PROVIDER_FACTS))
    for (const { of, checked, source } of models) {
      assert.match(checked, /^20\d\d-\d\d-\d\d$/, `${name} ${of}`)
      assert.match(source, /^(?:https:\/\/\S+|(?:npm|PyPI) \S+ \d\S+, \S.*)$/, `${name} ${of}`)
    }
})

test('no row follows others that have all of its facts for all of its models', () => {
  for (const { name, models = [] } of Object.values(PROVIDER_FACTS)) {
    const seen = new Set<string>()
    for (const { of, checked: _day, source: _source, ...facts } of models)
      for (const fact of Object.keys(facts)) {
        const key = `${of.source} ${fact}`
        assert.ok(!seen.has(key), `${name}: ${key} appears there twice`)
        seen.add(key)
      }
  }
})
