/** Legal requests of each API, with a word at every place that allows one. */
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { openAiCompletionsDialect } from '../../../dataplane/apis/openai-completions/dialect.ts'
import { openAiEmbeddingsDialect } from '../../../dataplane/apis/openai-embeddings/dialect.ts'
import { openAiResponsesDialect } from '../../../dataplane/apis/openai-responses/dialect.ts'
import { rerankDialect } from '../../../dataplane/apis/rerank/dialect.ts'
import type { Dialect } from '../../../dataplane/wire/dialect.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Legal {
  readonly dialect: Dialect
  readonly bodies: readonly Json[]
}

const schema = {
  type: 'object',
  properties: { town: { type: 'string', description: 'the town', enum: ['Aa', 'Bb'] } },
  required: ['town'],
}
const declared = { name: 'look_up', description: 'finds a town', parameters: schema }
const PICTURE = 'data:image/png;base64,AAAA'
const user = { role: 'user', content: 'a question' }

const CHAT: readonly Json[] = [
  { messages: [user] },
  {
    messages: [
      { role: 'system', content: 'be kind' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'some words' },
          { type: 'image_url', image_url: { url: PICTURE } },
        ],
      },
      {
        role: 'assistant',
        content: 'let me see',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'look_up', arguments: '{"town":"Aa"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'it is there' },
    ],
    tools: [{ type: 'function', function: declared }],
    tool_choice: 'auto',
  },
  {
    messages: [user],
    response_format: { type: 'json_schema', json_schema: { name: 'shape', schema } },
    stop: ['the end'],
    user: 'user-1',
    temperature: 1,
  },
  {
    messages: [
      user,
      {
        role: 'assistant',
        content: 'it is here',
        images: [{ type: 'image_url', image_url: { url: PICTURE }, index: 0 }],
      },
      user,
    ],
  },
  { messages: [user], prediction: { type: 'content', content: 'foreseen' }, top_k: 3 },
]

const MESSAGES: readonly Json[] = [
  { max_tokens: 9, messages: [user] },
  {
    max_tokens: 9,
    system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'some words' },
          { type: 'document', title: 'a title', source: { type: 'text', data: 'a document' } },
          {
            type: 'search_result',
            title: 'found',
            source: 'https://x.y',
            content: [{ type: 'text', text: 'a passage' }],
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'some thoughts', signature: 'c2ln' },
          { type: 'text', text: 'let me see' },
          { type: 'tool_use', id: 'c1', name: 'look_up', input: { town: 'Aa' } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'it is there' }],
      },
    ],
    tools: [{ name: 'look_up', description: 'finds a town', input_schema: schema }],
    stop_sequences: ['the end'],
  },
]

const RESPONSES: readonly Json[] = [
  { input: 'a question' },
  {
    instructions: 'be kind',
    input: [
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
      { role: 'user', content: [{ type: 'input_text', text: 'some words' }] },
      { type: 'reasoning', id: 'r1', summary: [{ type: 'summary_text', text: 'a summary' }] },
      { type: 'function_call', call_id: 'c1', name: 'look_up', arguments: '{"town":"Aa"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'it is there' },
    ],
    tools: [{ type: 'function', ...declared }],
    text: { format: { type: 'json_schema', name: 'shape', description: 'a shape', schema } },
  },
]

export const LEGAL: readonly Legal[] = [
  { dialect: openAiChatDialect as Dialect, bodies: CHAT },
  { dialect: anthropicMessagesDialect as Dialect, bodies: MESSAGES },
  { dialect: openAiResponsesDialect as Dialect, bodies: RESPONSES },
  {
    dialect: openAiCompletionsDialect as Dialect,
    bodies: [
      { prompt: 'once upon' },
      { prompt: ['one', 'two'], suffix: 'the rest', stop: 'the end', user: 'user-1' },
    ],
  },
  {
    dialect: openAiEmbeddingsDialect as Dialect,
    bodies: [{ input: 'some words' }, { input: ['one', 'two'], user: 'user-1' }],
  },
  {
    dialect: rerankDialect as Dialect,
    bodies: [{ query: 'a question', documents: ['one', { text: 'two' }], top_n: 1 }],
  },
]
