/** The facts about SGLang's server. */
import { countOf, recordOf, textOf } from '../../json/values.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { LISTED_REVISION, revisionOfPath } from '../../wire/revisions.ts'

/** With priority scheduling it also reports each priority; the total has an empty label. */
const TOTAL = { priority: '' }

export const facts: ProviderFacts = {
  name: 'sglang',
  summary: "SGLang's OpenAI-compatible server.",
  hosted: false,
  parameters: {
    top_k: { values: { kind: 'integer', least: -1, most: 1_000_000 } },
    min_p: { values: { kind: 'number', least: 0, most: 1 } },
    repetition_penalty: { values: { kind: 'number', least: 0, most: 10 } },
    min_tokens: { values: { kind: 'integer', least: 0, most: 10_000_000 } },
    ignore_eos: { values: { kind: 'boolean' } },
    skip_special_tokens: { values: { kind: 'boolean' } },
    no_stop_trim: { values: { kind: 'boolean' } },
    stop_token_ids: { values: { kind: 'integers' } },
    chat_template_kwargs: { values: { kind: 'object' }, isOfChats: true },
    separate_reasoning: { values: { kind: 'boolean' }, isOfChats: true },
  },
  writable: {
    reasoning: true,
    efforts: true,
    thinking_member: true,
    call_id_length: true,
    wires: ['chat', 'responses', 'messages'],
  },
  natives: ['responses', 'messages'],
  port: 30_000,
  healthPath: '/health',
  // Older builds count only texts.
  tokenQuestions: [
    {
      method: 'POST',
      path: '/v1/tokenize',
      write: (model, { messages, tools }) => ({ model, messages, tools }),
      read: (answer) => countOf(recordOf(answer).count),
    },
    {
      method: 'POST',
      path: '/v1/tokenize',
      isPlain: true,
      write: (model, { text }) => ({ model, prompt: text }),
      read: (answer) => countOf(recordOf(answer).count),
    },
  ],
  revisionQuestions: [
    {
      path: '/get_model_info',
      isNative: true,
      read(info) {
        const { weight_version, model_path } = recordOf(info)
        // Its own version if no revision was given at the start.
        const version = weight_version === 'default' ? undefined : textOf(weight_version)
        return version ?? revisionOfPath(model_path)
      },
    },
    ...LISTED_REVISION,
  ],
  queueGauges: {
    waiting: [{ metric: 'sglang:num_queue_reqs', labels: TOTAL }],
    running: [{ metric: 'sglang:num_running_reqs', labels: TOTAL }],
    kvShare: [{ metric: 'sglang:token_usage', labels: TOTAL }],
  },
}
