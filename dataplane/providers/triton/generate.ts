/** Requests for `generate` and `generate_stream`, which every Triton has: one text goes in, one text comes out. */
import { bodyOf } from '../../json/unwritten.ts'
import { type Json, listOf, textOf } from '../../json/values.ts'
import type { ChatRequest, CompletionsRequest } from '../../wire/inner-form.ts'
import type { ProviderSettings, UpstreamRequest } from '../../wire/provider.ts'
import type { AddressSettings } from '../../wire/provider-facts.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../wire/unsupported.ts'
import { limitOf } from '../limits.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { facts, GENERATE } from './facts.ts'
import { templated } from './template.ts'

/** Members that it does not have. */
const CANNOT = [
  ...HOSTED_MEMBERS,
  'best_of',
  'echo',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'n',
  'parallel_tool_calls',
  'response_format',
  'suffix',
  'tool_choice',
  'tools',
  'top_logprobs',
]
/** Numbers that it has by the same name. */
const NUMBERS = [
  'temperature',
  'top_p',
  'top_k',
  'repetition_penalty',
  'presence_penalty',
  'frequency_penalty',
  'seed',
]
/** Members that the gateway translates. */
const TAKEN = new Set([
  ...NUMBERS,
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'prompt',
  'stop',
  'stream',
  'stream_options',
])

export type Generate = Pick<UpstreamRequest, 'path' | 'body' | 'leftOut'> & {
  readonly isDetour: true
}

/** Whether an upstream is asked by `generate`. */
export function isForGenerate({ apiVersion }: AddressSettings): boolean {
  return apiVersion === GENERATE
}

export function generateChat(
  request: ChatRequest,
  settings: ProviderSettings,
  bound: number,
): Generate {
  const { body } = request
  refuseUnsupported(facts.name, body, CANNOT)
  const { chatTemplate } = settings.capabilities
  if (chatTemplate === undefined)
    throw unsupported(facts.name, 'messages', 'this upstream needs capabilities.chat_template')
  const { text, end } = templated(facts.name, body.messages, chatTemplate)
  return written(request, settings, { text, bound, ends: [end] })
}

export function generateText(
  request: CompletionsRequest,
  settings: ProviderSettings,
  bound: number,
): Generate {
  const { body } = request
  refuseUnsupported(facts.name, body, CANNOT)
  const { prompt } = body
  if (prompt != null && typeof prompt !== 'string')
    throw unsupported(facts.name, 'prompt', 'send one text')
  return written(request, settings, { text: prompt ?? '', bound, ends: [] })
}

interface GenerateParts {
  readonly text: string
  readonly bound: number
  /** Further texts that end the answer. */
  readonly ends: readonly string[]
}

function written(
  { body, stream, bytes }: ChatRequest | CompletionsRequest,
  { model, capabilities }: ProviderSettings,
  { text, bound, ends }: GenerateParts,
): Generate {
  const stops = typeof body.stop === 'string' ? [body.stop] : listOf(body.stop)
  const words = [...stops.filter((one) => textOf(one) !== undefined), ...ends]
  const sent: Json = {
    text_input: text,
    // It requires a limit.
    max_tokens: limitOf(body, bound, capabilities),
    ...Object.fromEntries(
      NUMBERS.filter((name) => typeof body[name] === 'number').map((name) => [name, body[name]]),
    ),
    ...(words.length > 0 && { stop_words: words }),
    stream,
    // Otherwise some models repeat the prompt.
    exclude_input_in_output: true,
  }
  return {
    path: `/models/${encodeURIComponent(model)}/${stream ? 'generate_stream' : 'generate'}`,
    body: bodyOf(sent, bytes),
    leftOut: membersLeftOut(body, TAKEN, CANNOT),
    isDetour: true,
  }
}
