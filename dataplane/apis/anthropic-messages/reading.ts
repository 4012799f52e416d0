/** Reads the body of a message request into the inner form. */
import { invalid } from '../../body/request.ts'
import { countOf, recordOf } from '../../json/values.ts'
import { EXTRA_MEMBERS, extrasOf, extrasOfTools } from '../../providers/extras/asked.ts'
import { conversationEstimate, promptTokensMax } from '../../tokens/count.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../wire/reading.ts'
import { Conversation } from './conversation.ts'
import { optionsOf } from './options.ts'
import { checkShape, type MessagesBody } from './shape.ts'

export const ANTHROPIC_MESSAGES = 'anthropic-messages'

const MEMBERS: ReadonlySet<string> = new Set([
  'container',
  'max_tokens',
  'mcp_servers',
  'messages',
  'metadata',
  'model',
  'output_config',
  'stop_sequences',
  'stream',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_p',
])

export const messagesReading: Reading<ChatRequest> = {
  members: new Set([...MEMBERS, ...EXTRA_MEMBERS]),
  body: (tree) => translated(tree as MessagesBody).body,
  request: (tree, facts) => requestOf(tree, facts, true),
}

/** A request that only counts tokens needs no limit for an answer. */
export const countReading: Reading<ChatRequest> = {
  ...messagesReading,
  request: (tree, facts) => requestOf(tree, facts, false),
}

function requestOf(tree: unknown, facts: BodyFacts, isAnswered: boolean): ChatRequest {
  // The next line checks the body.
  const message = tree as MessagesBody
  checkShape(message)
  const maxTokens = countOf(message.max_tokens)
  if (isAnswered && maxTokens === undefined)
    throw invalid(
      '"max_tokens" is required: the most tokens that the answer may have.',
      'max_tokens',
    )
  const { body, untranslated, files } = translated(message)
  const tools = extrasOfTools(message.tools, (at) => `tools.${at}`)
  const extras = [...extrasOf(message), ...tools, ...files]
  return {
    operation: 'chat',
    wire: ANTHROPIC_MESSAGES,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    stream: message.stream === true,
    includeUsage: true,
    named: body.model,
    thinksFreely: recordOf(message.thinking).type === 'adaptive',
    oneCall: body.parallel_tool_calls === false,
    maxTokens,
    choices: 1,
    promptTokens: conversationEstimate({ body, sparse: facts.sparse }),
    promptTokensMax: promptTokensMax(facts.bytes, body),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    dropped: droppedOf(facts),
    ...(message.top_k != null && { vendors: { top_k: message.top_k } }),
    ...(extras.length > 0 && { extras }),
    ...(untranslated && { untranslated }),
  }
}

/** undefined if other models can read the whole block. */
function droppedOf({ spans }: BodyFacts): readonly string[] | undefined {
  const dropped = [...spans.keys()].filter((name) => !MEMBERS.has(name))
  return dropped.length > 0 ? dropped : undefined
}

function translated(message: MessagesBody): {
  readonly body: ChatBody
  readonly untranslated: ChatRequest['untranslated']
  readonly files: Conversation['files']
} {
  const conversation = new Conversation()
  conversation.system(message.system)
  for (const [index, turn] of message.messages.entries()) conversation.turn(recordOf(turn), index)
  const options = optionsOf(message, (what) => conversation.lacks(what))
  const { model, max_tokens } = message
  const { messages, untranslated, files } = conversation
  const isKnown = untranslated === undefined && files.length === 0
  // Blank turns have no message, and no vendor accepts a request without one.
  if (isKnown && messages.every(({ role }) => role === 'system'))
    throw invalid('At least one of the "messages" must have content.', 'messages')
  const stream = message.stream === true && {
    stream: true,
    stream_options: { include_usage: true },
  }
  return {
    body: { model, messages, max_completion_tokens: max_tokens ?? null, ...stream, ...options },
    untranslated,
    files,
  }
}
