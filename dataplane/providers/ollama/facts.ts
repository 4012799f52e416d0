/** The facts about Ollama. */
import { listOf, recordOf, textOf } from '../../json/values.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { tokensOf } from '../../wire/window-questions.ts'

export const facts: ProviderFacts = {
  name: 'ollama',
  summary: 'Ollama, by its own API.',
  hosted: false,
  parameters: {
    top_k: { values: { kind: 'integer', least: 0, most: 1_000_000 }, below: 'options' },
    min_p: { values: { kind: 'number', least: 0, most: 1 }, below: 'options' },
    repeat_penalty: { values: { kind: 'number', least: 0, most: 10 }, below: 'options' },
    repeat_last_n: { values: { kind: 'integer', least: -1, most: 10_000_000 }, below: 'options' },
    keep_alive: { values: { kind: 'text' } },
  },
  writable: { reasoning: true },
  port: 11_434,
  lostInOpenAi: 'a limit of tokens in max_completion_tokens, and failures inside a stream',
  // An endpoint may include the version of its OpenAI-compatible paths.
  modelList: { path: '/v1/models' },
  basePath: (path) => path.replace(/\/v\d+$/, ''),
  healthPath: '/api/version',
  listedAs: (model) => [`ollama/${model}`, `ollama_chat/${model}`],
  noLimits: [-1, 0],
  revisionQuestions: [
    {
      path: '/api/tags',
      isNative: true,
      read(tags, model) {
        const models = listOf(recordOf(tags).models).map(recordOf)
        const one = models.find(
          ({ name, model: id }) => isTagged(name, model) || isTagged(id, model),
        )
        return textOf(one?.digest)
      },
    },
  ],
  // The window of the loaded model, else the window that it would get, else its limit.
  windowQuestions: [
    {
      method: 'GET',
      path: '/api/ps',
      isNative: true,
      read(loaded, model) {
        const models = listOf(recordOf(loaded).models).map(recordOf)
        const one = models.find(
          ({ name, model: id }) => isTagged(name, model) || isTagged(id, model),
        )
        return tokensOf(one?.context_length)
      },
    },
    {
      method: 'POST',
      path: '/api/show',
      isNative: true,
      body: (model) => JSON.stringify({ model }),
      read(shown) {
        const { parameters, model_info } = recordOf(shown)
        const asked = /^num_ctx\s+(\d{1,12})\s*$/m.exec(textOf(parameters) ?? '')?.[1]
        if (asked !== undefined) return tokensOf(Number(asked))
        const info = Object.entries(recordOf(model_info))
        return tokensOf(info.find(([name]) => name.endsWith('.context_length'))?.[1])
      },
    },
  ],
}

/** A name without a tag means `latest`. */
function isTagged(name: unknown, model: string): boolean {
  return name === model || name === `${model}:latest`
}
