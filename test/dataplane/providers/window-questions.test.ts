/** How runtimes report the context that they serve. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { facts as llamacpp } from '../../../dataplane/providers/llamacpp/facts.ts'
import { facts as ollama } from '../../../dataplane/providers/ollama/facts.ts'
import type { WindowQuestion } from '../../../dataplane/wire/window-questions.ts'
import { windowFrom } from '../../../dataplane/wire/window-questions.ts'

/** By path, in the order of the requests. */
function windowOf(
  questions: readonly WindowQuestion[] | undefined,
  answers: Record<string, unknown>,
) {
  for (const question of questions ?? []) {
    const answer = answers[question.path]
    const tokens = windowFrom(question, JSON.stringify(answer) ?? '', 'llama3')
    if (tokens !== undefined) return tokens
  }
  return undefined
}

const META = { n_ctx: 4096, n_ctx_train: 131_072 }

test('for llama.cpp it is the size of a slot, not the window of the training', () => {
  const list = (meta: unknown) => ({ '/models': { data: [{ id: 'm.gguf', meta }] } })
  const props = { '/props': { default_generation_settings: { n_ctx: 2048 } } }
  assert.equal(windowOf(llamacpp.windowQuestions, { ...list(META), ...props }), 4096)
  assert.equal(
    windowOf(llamacpp.windowQuestions, { ...list({ n_ctx_train: 131_072 }), ...props }),
    2048,
  )
  assert.equal(windowOf(llamacpp.windowQuestions, list({ n_ctx_train: 131_072 })), undefined)
  assert.equal(windowOf(llamacpp.windowQuestions, list(null)), undefined)
})

test('for Ollama it is the window of the loaded model, else the configured one, else the maximum', () => {
  const loaded = (name: string) => ({ '/api/ps': { models: [{ name, context_length: 8192 }] } })
  const parameters = 'stop "<|eot|>"\nnum_ctx                        16384\ntemperature 0.5'
  const model_info = { 'general.architecture': 'llama', 'llama.context_length': 131_072 }
  const shown = { '/api/show': { parameters, model_info } }
  assert.equal(windowOf(ollama.windowQuestions, { ...loaded('llama3:latest'), ...shown }), 8192)
  assert.equal(windowOf(ollama.windowQuestions, { ...loaded('llama3'), ...shown }), 8192)
  assert.equal(windowOf(ollama.windowQuestions, { ...loaded('llama3:70b'), ...shown }), 16_384)
  assert.equal(windowOf(ollama.windowQuestions, { '/api/show': { model_info } }), 131_072)
  assert.equal(
    windowOf(ollama.windowQuestions, { '/api/show': { parameters: 'stop "num_ctx 1"' } }),
    undefined,
  )
})

test('invalid values are ignored', () => {
  for (const questions of [llamacpp.windowQuestions, ollama.windowQuestions]) {
    for (const answer of [
      null,
      [],
      'text',
      { data: [{ meta: { n_ctx: '4096' } }] },
      { models: 1 },
    ]) {
      const all = ['/models', '/props', '/api/ps', '/api/show'].map((path) => [path, answer])
      assert.equal(windowOf(questions, Object.fromEntries(all)), undefined)
    }
  }
})
