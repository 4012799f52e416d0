/** Reads the body of a chat completion; the inner form has its members. */

import { CHAT_MEMBERS } from '../../guardrails/forms/chat.ts'
import { EXTRA_MEMBERS, extrasOf, extrasOfTools, filesIn } from '../../providers/extras/asked.ts'
import { promptTokensMax } from '../../tokens/count.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../wire/reading.ts'
import { limited, unlimitedOf } from '../openai/no-limit.ts'
import { KEPT } from '../openai-responses/request/reading.ts'
import { chatOfResponse, isResponseBody } from './response-body.ts'
import { checkShape } from './shape.ts'

/** A number may have a megabyte of digits, so these members are read at any length. */
const NUMBERS = [
  ...['frequency_penalty', 'logprobs', 'max_completion_tokens', 'max_tokens', 'n'],
  ...['parallel_tool_calls', 'presence_penalty', 'seed', 'stream', 'temperature'],
  ...['top_logprobs', 'top_p'],
]

export const OPENAI_CHAT = 'openai-chat'

export const chatReading: Reading<ChatRequest> = {
  members: new Set([...CHAT_MEMBERS, ...EXTRA_MEMBERS, ...NUMBERS, ...KEPT]),
  request: requestOf,
  body: (tree) => limited(tree as ChatBody, 1),
}

function requestOf(tree: unknown, facts: BodyFacts): ChatRequest {
  if (isResponseBody(tree)) return chatOfResponse(tree, facts)
  // The next line checks the body.
  const asked = tree as ChatBody
  checkShape(asked)
  const body = limited(asked, 1)
  const tools = extrasOfTools(asked.tools, (at) => `tools[${at}]`)
  const extras = [...extrasOf(asked), ...tools, ...filesIn(asked.messages)]
  return {
    operation: 'chat',
    wire: OPENAI_CHAT,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    isUsageRepeated: body.stream_options?.continuous_usage_stats === true,
    oneCall: body.parallel_tool_calls === false,
    takesPictures: true,
    maxTokens: limitOf(body),
    choices: typeof body.n === 'number' ? body.n : 1,
    promptTokensMax: promptTokensMax(facts.bytes, body),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    ...(extras.length > 0 && { extras }),
    ...unlimitedOf(asked, body, 1),
  }
}

/** Runtimes differ in which of the two they obey. If both are present, the larger one is reserved. */
function limitOf({ max_completion_tokens: one, max_tokens: other }: ChatBody): number | undefined {
  return one != null && other != null ? Math.max(one, other) : (one ?? other ?? undefined)
}
