/** Triton's OpenAI frontend, whose schema forbids unknown members. */
import type { Checker } from './rules/contract.ts'
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

export const triton: Checker = ({ path, body }, c) => {
  if (/^(?:\/v1)?\/completions$/.test(path)) checkCompletion(body, { members: TEXT_MEMBERS }, c)
  if (!path.includes('/chat/completions')) return
  checkChat(body, RULES, c)
  c.demand((body.n ?? 1) === 1, 'choices', 'n', 'n must be 1.')
  c.demand(body.logit_bias === undefined, 'logit-bias', 'logit_bias', 'not supported')
  const limit = body.max_tokens ?? body.max_completion_tokens
  c.demand(limit != null, 'max-tokens', 'max_tokens', 'Without a limit an answer has 16 tokens.')
}
