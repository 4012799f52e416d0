/** Hugging Face's Text Generation Inference. */

import { isRecord, listOf, recordOf } from '../../json/values.ts'
import type { ChatBody, ChatMessage, CompletionsBody } from '../../wire/inner-form.ts'
import { hintsExcept, unsupported } from '../../wire/unsupported.ts'
import type { Recogniser } from '../failures/classify.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  {
    class: 'context',
    status: [422],
    says: /`inputs` tokens \+ `max_new_tokens` must be <=|`inputs` must have less than/,
  },
]

export const tgi = openAiLike(facts, {
  // One is an alias of the other, and TGI refuses both together as a duplicate.
  maxTokens: 'max_tokens',
  maxTokensOnly: true,
  cannot: [
    ...HOSTED_MEMBERS,
    'n',
    // TGI requires a list here, so it refuses OpenAI's object.
    'logit_bias',
    // TGI converts it to a repetition penalty that is larger by two.
    'presence_penalty',
  ],
  hints: hintsExcept('seed'),
  rewrite: asTyped,
  repair: { newIds: true, finishReasons: { stop_sequence: 'stop', eos_token: 'stop' } },
  completions: {
    cannot: ['best_of', 'echo', 'logit_bias', 'logprobs', 'n', 'presence_penalty', 'suffix'],
    hints: hintsExcept('seed'),
    prompts: 'texts',
    emptyReasons: true,
    rewrite: typedAlike,
  },
  recognisers: RECOGNISERS,
})

/** Its types are strict where OpenAI accepts several. */
function typedAlike({ stop, top_p: topP }: ChatBody | CompletionsBody): Record<string, unknown> {
  return {
    ...(typeof stop === 'string' && { stop: [stop] }),
    ...(typeof topP === 'number' && topP >= 1 && { top_p: undefined }),
  }
}

function asTyped(body: ChatBody): Record<string, unknown> {
  const { response_format: format } = body
  // TGI supports either a grammar or tools.
  const isBound = isRecord(format) && format.type !== 'text' && listOf(body.tools).length > 0
  if (isBound && body.tool_choice !== 'none')
    throw unsupported(facts.name, 'response_format', 'leave it out where you send tools')
  return {
    ...(isBound && { tools: undefined, tool_choice: undefined }),
    ...typedAlike(body),
    ...(isRecord(format) && { response_format: grammar(format) }),
    ...(body.messages.some(saysAndCalls) && { messages: body.messages.flatMap(apart) }),
  }
}

function grammar(format: Readonly<Record<string, unknown>>): unknown {
  if (format.type === 'text') return undefined
  const schema = recordOf(format.json_schema).schema
  if (format.type === 'json_schema' && isRecord(schema)) return { type: 'json', value: schema }
  throw unsupported(
    facts.name,
    'response_format',
    'send a schema, response_format.json_schema.schema',
  )
}

/** TGI keeps the text of a message with both, and drops the calls. */
function saysAndCalls(message: ChatMessage): boolean {
  return Array.isArray(message.tool_calls) && (message.content ?? null) !== null
}

/** The text, then the calls. */
function apart(message: ChatMessage): readonly ChatMessage[] {
  if (!saysAndCalls(message)) return [message]
  const { role, content } = message
  const calls = { ...message, content: null }
  return isBlank(content) ? [calls] : [{ role, content }, calls]
}

function isBlank(content: unknown): boolean {
  return content === '' || (Array.isArray(content) && content.length === 0)
}
