/** The facts about llama.cpp's server. */
import { countOf, lengthOf, recordOf } from '../../json/values.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { LISTED_REVISION, revisionOfPath } from '../../wire/revisions.ts'
import { entryOf, tokensOf } from '../../wire/window-questions.ts'

export const facts: ProviderFacts = {
  name: 'llamacpp',
  summary: "llama.cpp's server.",
  hosted: false,
  parameters: {
    top_k: { values: { kind: 'integer', least: 0, most: 1_000_000 } },
    min_p: { values: { kind: 'number', least: 0, most: 1 } },
    typical_p: { values: { kind: 'number', least: 0, most: 1 } },
    repeat_penalty: { values: { kind: 'number', least: 0, most: 10 } },
    repeat_last_n: { values: { kind: 'integer', least: -1, most: 10_000_000 } },
    cache_prompt: { values: { kind: 'boolean' } },
    ignore_eos: { values: { kind: 'boolean' } },
    samplers: { values: { kind: 'texts' } },
    chat_template_kwargs: { values: { kind: 'object' }, isOfChats: true },
  },
  writable: {
    reasoning: true,
    efforts: true,
    thinking_member: true,
    call_id_length: true,
    wires: ['chat', 'responses', 'messages'],
  },
  natives: ['responses', 'messages'],
  port: 8080,
  spellings: ['llama.cpp', 'llama-cpp', 'llama_cpp'],
  healthPath: '/health',
  noLimits: [-1],
  // A second number of choices.
  foreign: ['n_cmpl'],
  // Older builds count only texts.
  tokenQuestions: [
    {
      method: 'POST',
      path: '/v1/chat/completions/input_tokens',
      write: (model, { messages, tools }) => ({ model, messages, tools }),
      read: (answer) => countOf(recordOf(answer).input_tokens),
    },
    {
      method: 'POST',
      path: '/tokenize',
      isPlain: true,
      write: (_model, { text }) => ({ content: text, add_special: true }),
      read: (answer) => lengthOf(recordOf(answer).tokens),
    },
  ],
  // The size of a slot; `n_ctx_train` is the model's limit, which no request gets.
  // Older builds report it only in their properties.
  windowQuestions: [
    {
      method: 'GET',
      path: '/models',
      isNative: false,
      read: (list, model) => tokensOf(recordOf(entryOf(list, model).meta).n_ctx),
    },
    {
      method: 'GET',
      path: '/props',
      isNative: true,
      read: (props) => tokensOf(recordOf(recordOf(props).default_generation_settings).n_ctx),
    },
  ],
  revisionQuestions: [
    ...LISTED_REVISION,
    { path: '/props', isNative: true, read: (props) => revisionOfPath(recordOf(props).model_path) },
  ],
  queueGauges: {
    waiting: [{ metric: 'llamacpp:requests_deferred' }],
    running: [{ metric: 'llamacpp:requests_processing' }],
    needsCredential: true,
  },
}
