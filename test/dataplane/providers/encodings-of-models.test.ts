/** The encodings of hosted models, where no tokenizer is written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodingOfModel } from '../../../dataplane/providers/encodings-of-models.ts'

const CASES = [
  ['openai', 'gpt-4o', 'o200k_base'],
  ['openai', 'gpt-4o-2024-08-06', 'o200k_base'],
  ['openai', 'gpt-5.1', 'o200k_base'],
  ['openai', 'o3-mini', 'o200k_base'],
  ['openai', 'gpt-4-turbo', 'cl100k_base'],
  ['openai', 'gpt-3.5-turbo', 'cl100k_base'],
  ['azure_openai', 'gpt-35-turbo', 'cl100k_base'],
  ['openai', 'gpt-45', undefined],
  ['openai', 'my-model', undefined],
  ['anthropic', 'claude-sonnet-4-5', undefined],
  ['vllm', 'gpt-4o', undefined],
] as const

for (const [provider, model, encoding] of CASES) {
  test(`${model} of ${provider} has ${encoding ?? 'no known encoding'}`, () => {
    assert.equal(encodingOfModel({ provider, model }), encoding)
  })
}
