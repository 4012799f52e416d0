/** Triton's OpenAI frontend, whose schema forbids unknown members, and its own `generate`, whose inputs have types. */
import type { Checker, Complaints, Json } from './rules/contract.ts'
import { checkChat } from './rules/openai-chat.ts'
import { checkCompletion } from './rules/operations.ts'

const TEXT_MEMBERS =
  'model prompt best_of echo frequency_penalty logit_bias logprobs max_tokens min_tokens ignore_eos n presence_penalty seed stop stream stream_options suffix temperature top_p user'

const RULES = {
  members:
    'messages model frequency_penalty ignore_eos logit_bias logprobs top_logprobs max_completion_tokens max_tokens min_tokens n presence_penalty response_format seed stop stream stream_options temperature top_p tools tool_choice user function_call functions',
  message: {
    system: 'role content name',
    user: 'role content name',
    assistant: 'role content name refusal tool_calls function_call',
    tool: 'role content tool_call_id',
  },
  part: { text: 'type text' },
  roles: 'system user assistant tool function',
  callId: /./s,
  name: /./s,
  callMembers: 'id type function index',
  textOnly: true,
  idsMayRepeat: true,
}

/** The inputs of TensorRT-LLM's models. */
const INPUTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  text_input: isString,
  max_tokens: (value) => Number.isInteger(value) && Number(value) > 0,
  stop_words: (value) => Array.isArray(value) && value.every(isString),
  bad_words: (value) => Array.isArray(value) && value.every(isString),
  temperature: isNumber,
  top_p: isNumber,
  top_k: Number.isInteger,
  repetition_penalty: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  seed: (value) => Number.isInteger(value) && Number(value) >= 0,
  stream: isBoolean,
  exclude_input_in_output: isBoolean,
}
const GENERATE = /^\/v2\/models\/[^/]+(?:\/versions\/\d+)?\/generate(_stream)?$/

function checkGenerate(path: string, body: Json, c: Complaints): void {
  const [, streamed] = GENERATE.exec(path) ?? []
  for (const name of ['text_input', 'max_tokens'])
    c.demand(name in body, 'input', name, `expected ${name} as an input`)
  for (const [name, value] of Object.entries(body)) {
    const fits = INPUTS[name]
    if (fits === undefined) c.add(`unknown-member ${name}`, name, 'unexpected inference input')
    else c.demand(fits(value), 'type', name, 'unable to parse the value of the input')
  }
  c.demand(body.stream === (streamed !== undefined), 'stream', 'stream', 'it is not as the path')
}

export const triton: Checker = ({ path, body }, c) => {
  if (GENERATE.test(path)) checkGenerate(path, body, c)
  if (/^(?:\/v1)?\/completions$/.test(path)) checkCompletion(body, { members: TEXT_MEMBERS }, c)
  if (!path.includes('/chat/completions')) return
  checkChat(body, RULES, c)
  c.demand((body.n ?? 1) === 1, 'choices', 'n', 'n must be 1.')
  c.demand(body.logit_bias === undefined, 'logit-bias', 'logit_bias', 'not supported')
  const limit = body.max_tokens ?? body.max_completion_tokens
  c.demand(limit != null, 'max-tokens', 'max_tokens', 'Without a limit an answer has 16 tokens.')
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}
