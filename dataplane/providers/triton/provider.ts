/** The OpenAI frontend of Triton with TensorRT-LLM, and `generate` for servers without it. */

import { listOf, recordOf } from '../../json/values.ts'
import type { ChatBody, CompletionsBody, Forms } from '../../wire/inner-form.ts'
import type {
  AnswerOrigin,
  Decoded,
  Provider,
  ProviderOperation,
  ProviderSettings,
  StreamReader,
} from '../../wire/provider.ts'
import { unsupported } from '../../wire/unsupported.ts'
import type { Recogniser } from '../failures/classify.ts'
import { bearer, headersFor, openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { facts } from './facts.ts'
import { type Generate, generateChat, generateText, isForGenerate } from './generate.ts'
import { FRAMING, GENERATED, openGenerated, readChat, readText } from './generated.ts'

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
  { class: 'missing', status: [400], says: /^Unknown model|^Request for unknown model/ },
  { class: 'context', status: [400, 500], says: /exceeds maximum input length|max_seq_len/ },
]

const frontend = openAiLike(facts, {
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

const headersOf = headersFor(bearer)
const { chat, completions, ...others } = frontend.operations

export const triton: Provider = {
  ...frontend,
  framing: FRAMING,
  operations: {
    ...others,
    chat: either(chat, generateChat, readChat, (...answer) => openGenerated('chatcmpl', ...answer)),
    ...(completions && {
      completions: either(completions, generateText, readText, (...answer) =>
        openGenerated('cmpl', ...answer),
      ),
    }),
  },
}

type ReadWith = readonly [origin: AnswerOrigin, recognisers: readonly Recogniser[]]

/** The operation of the frontend, or that of `generate`. */
function either<O extends 'chat' | 'completions'>(
  own: ProviderOperation<O>,
  generate: (request: Forms[O]['request'], settings: ProviderSettings, bound: number) => Generate,
  read: (body: Buffer, ...answer: ReadWith) => Decoded<Forms[O]['answer']>,
  open: (...answer: ReadWith) => StreamReader<Forms[O]['event']>,
): ProviderOperation<O> {
  const { openStream } = own
  return {
    ...own,
    detour: GENERATED,
    encode(request, settings, maxTokens) {
      if (!isForGenerate(settings)) return own.encode(request, settings, maxTokens)
      return {
        headers: headersOf(settings)[request.stream ? 'stream' : 'whole'],
        ...generate(request, settings, maxTokens ?? MAX_TOKENS_DEFAULT),
      }
    },
    decode: (body, request, origin) =>
      origin.isDetour ? read(body, origin, RECOGNISERS) : own.decode(body, request, origin),
    ...(openStream && {
      openStream: (request, origin, kept) =>
        origin.isDetour ? open(origin, RECOGNISERS) : openStream(request, origin, kept),
    }),
  }
}

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
