/** Reads the body of a request for a response into the inner form. */
import type { BodyFacts, Reading } from '../../body/request.ts'
import type { ChatBody, ChatRequest } from '../../inner-form.ts'
import { promptTokensMax } from '../../tokens/count.ts'
import { messagesOf } from './items.ts'
import { optionsOf } from './options.ts'
import { beginSession } from './session.ts'
import { checkShape, type ResponsesBody } from './shape.ts'
import { Tools } from './tools.ts'

export const OPENAI_RESPONSES = 'openai-responses'

/** Members that have an effect, or are refused. */
const READ = [
  'background',
  'context_management',
  'conversation',
  'frequency_penalty',
  'include',
  'input',
  'instructions',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'messages',
  'metadata',
  'model',
  'n',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'reasoning',
  'safety_identifier',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]
const MEMBERS: ReadonlySet<string> = new Set(READ)

export const responsesReading: Reading<ChatRequest> = {
  members: MEMBERS,
  body: (tree) => translated(tree as ResponsesBody).body,
  request: requestOf,
}

function requestOf(tree: unknown, facts: BodyFacts): ChatRequest {
  // The next line checks it; until then only the name of the type is claimed.
  const asked = tree as ResponsesBody
  checkShape(asked)
  const { body, tools } = translated(asked)
  const unread = [...facts.spans.keys()].filter((name) => !MEMBERS.has(name))
  const dropped = [...tools.dropped, ...unread]
  beginSession(facts.bytes, { asked, tools, createdSeconds: facts.createdSeconds })
  return {
    operation: 'chat',
    wire: OPENAI_RESPONSES,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    stream: asked.stream === true,
    includeUsage: true,
    oneCall: body.parallel_tool_calls === false,
    maxTokens: asked.max_output_tokens ?? undefined,
    choices: 1,
    promptTokensMax: promptTokensMax(facts.bytes, body),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    ...(dropped.length > 0 && { dropped }),
  }
}

function translated(asked: ResponsesBody): { readonly body: ChatBody; readonly tools: Tools } {
  const tools = new Tools(asked)
  const stream = asked.stream === true && { stream: true, stream_options: { include_usage: true } }
  const body = {
    model: asked.model,
    messages: messagesOf(asked, tools),
    ...stream,
    ...optionsOf(asked),
    ...tools.members(),
  }
  return { body, tools }
}
