/** The OpenAI frontend of Triton with TensorRT-LLM. */

import { listOf, recordOf } from '../../json/values.ts'
import type { ChatBody, CompletionsBody } from '../../wire/inner-form.ts'
import { unsupported } from '../../wire/unsupported.ts'
import type { Recogniser } from '../failures/classify.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { facts } from './facts.ts'

/** Its schema forbids every other member. */
const UNDERSTOOD = [
  'messages',
  'model',
  'frequency_penalty',
  'ignore_eos',
  'logprobs',
  'top_logprobs',
  'max_completion_tokens',
  'max_tokens',
  'min_tokens',
  'presence_penalty',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'tools',
  'tool_choice',
  'user',
  'function_call',
  'functions',
]
/** Triton refuses these, or they have no effect there. */
const CANNOT = [...HOSTED_MEMBERS, 'n', 'logit_bias', 'parallel_tool_calls', 'response_format']
/** The same for legacy completions. */
const UNDERSTOOD_OF_TEXT = [
  'prompt',
  'model',
  'frequency_penalty',
  'ignore_eos',
  'max_tokens',
  'min_tokens',
  'presence_penalty',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'user',
]
/** Triton's default is 16 tokens. */
const MAX_TOKENS_DEFAULT = 4_096

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'missing', status: [400], says: /^Unknown model/ },
  { class: 'context', status: [400, 500], says: /exceeds maximum input length|max_seq_len/ },
]

export const triton = openAiLike(facts, {
  maxTokens: 'max_tokens',
  maxTokensDefault: MAX_TOKENS_DEFAULT,
  allow: UNDERSTOOD,
  cannot: CANNOT,
  rewrite: explicit,
  failing: ['abort', 'error'],
  repair: {
    newIds: false,
    // TensorRT-LLM numbers its finish reasons.
    finishReasons: { 1: 'stop', 2: 'stop', 3: 'length' },
    lengthAtBound: { withoutBound: MAX_TOKENS_DEFAULT },
  },
  completions: {
    cannot: ['best_of', 'echo', 'logit_bias', 'logprobs', 'n', 'suffix'],
    allow: UNDERSTOOD_OF_TEXT,
    prompts: 'one text',
    rewrite: evenly,
  },
  recognisers: RECOGNISERS,
})

function explicit(body: ChatBody): Record<string, unknown> {
  for (const [index, { content }] of body.messages.entries())
    if (listOf(content).some((part) => recordOf(part).type !== 'text'))
      throw unsupported(facts.name, `messages.${index}.content`, 'send parts of type text')
  if (body.tool_choice === 'required' && Array.isArray(body.tools) && body.tools.length > 1) {
    // Triton would silently force the first of them.
    throw unsupported(facts.name, 'tool_choice', 'name one tool in tool_choice, or send auto')
  }
  return evenly(body)
}

/** Triton's default is 0.7. */
function evenly({ temperature }: ChatBody | CompletionsBody): Record<string, unknown> {
  return (temperature ?? null) === null ? { temperature: 1 } : {}
}
