/** The facts about Hugging Face's Text Generation Inference. */
import { lengthOf, recordOf, textOf } from '../../json/values.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'tgi',
  summary: "Hugging Face's Text Generation Inference.",
  hosted: false,
  port: 3000,
  aliases: ['huggingfacetgi', 'textgenerationinference'],
  healthPath: '/health',
  // A GET with a body. If a proxy drops the body, only texts are counted.
  tokenQuestions: [
    {
      method: 'GET',
      path: '/chat_tokenize',
      write: (model, { messages, tools }) => ({ model, messages, tools }),
      read: (answer) => lengthOf(recordOf(answer).tokenize_response),
    },
    {
      method: 'POST',
      path: '/tokenize',
      isPlain: true,
      write: (_model, { text }) => ({ inputs: text }),
      read: lengthOf,
    },
  ],
  // The commit of the model; `sha` is that of the runtime.
  revisionQuestions: [
    { path: '/info', isNative: true, read: (info) => textOf(recordOf(info).model_sha) },
  ],
  queueGauges: {
    waiting: [{ metric: 'tgi_queue_size' }],
    running: [{ metric: 'tgi_batch_current_size' }],
  },
}
