/** Reads the body of a request for a response into the inner form. */
import { invalid } from '../../../body/request.ts'
import { listOf } from '../../../json/values.ts'
import { EXTRA_MEMBERS, extrasOf } from '../../../providers/extras/asked.ts'
import { withoutHosted } from '../../../providers/extras/hosted-tools.ts'
import { conversationEstimate, promptTokensMax } from '../../../tokens/count.ts'
import type { AskedExtra } from '../../../wire/extras.ts'
import type { ChatBody, ChatRequest } from '../../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../../wire/reading.ts'
import { beginSession } from '../session.ts'
import { messagesOf } from './items.ts'
import { Lacks } from './lacks.ts'
import { LOGPROBS, optionsOf } from './options.ts'
import { checkShape, type ResponsesBody, stateOf } from './shape.ts'
import { Tools } from './tools.ts'

type Edits = NonNullable<ChatRequest['edits']>

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
/** Large members are stored for the rest. */
export const KEPT: ReadonlySet<string> = new Set([...READ, ...EXTRA_MEMBERS])

const NO_COMPACTION = {
  param: 'model',
  message: 'No upstream of this route can compact conversations; request a summary instead.',
}

export const responsesReading: Reading<ChatRequest> = {
  members: KEPT,
  body: (tree) => translated(tree as ResponsesBody).body,
  request: requestOf,
}

/** A request for compaction is read like a request for an answer, but has no limit of output. */
export const compactReading: Reading<ChatRequest> = {
  ...responsesReading,
  request(tree, facts) {
    const request = requestOf(tree, facts)
    if (request.stream) throw invalid('This request cannot be streamed; omit "stream".', 'stream')
    const edits = new Map(request.edits)
    edits.delete('store')
    return { ...request, below: '/compact', untranslated: NO_COMPACTION, edits }
  },
}

function requestOf(tree: unknown, facts: BodyFacts): ChatRequest {
  // The next line checks the body.
  const asked = tree as ResponsesBody
  checkShape(asked)
  const state = stateOf(asked)
  const { body, tools, lacks } = translated(asked)
  const extras = [...lacks.files, ...extrasOf(asked).filter(isNoState)]
  const dropped = droppedOf(asked, tools, facts)
  beginSession(facts.bytes, { asked, tools, state, createdSeconds: facts.createdSeconds })
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
    takesPictures: true,
    maxTokens: asked.max_output_tokens ?? undefined,
    choices: 1,
    promptTokens: conversationEstimate({ body, sparse: facts.sparse }),
    promptTokensMax: promptTokensMax(facts.bytes, body),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    edits: editsOf(asked),
    ...(dropped.length > 0 && { dropped }),
    ...(extras.length > 0 && { extras }),
    ...(tools.hosted.length > 0 && { unsent: tools.hosted }),
    ...(lacks.first && { untranslated: lacks.first }),
  }
}

/** Names the parts of the body that a translation leaves out, as the client calls them. */
export function droppedOf(
  asked: ResponsesBody,
  { dropped }: Pick<Tools, 'dropped'>,
  { spans }: Pick<BodyFacts, 'spans'>,
): string[] {
  const unread = [...spans.keys()].filter((name) => !MEMBERS.has(name))
  return [...dropped, ...unmetOf(asked), ...unread]
}

/** The wishes of `include` that no translated answer grants, and settings of a cache that no other wire has. */
function unmetOf({ include, prompt_cache_options: caching }: ResponsesBody): string[] {
  const unmet = listOf(include).flatMap((wish, at) =>
    typeof wish !== 'string' || wish === LOGPROBS ? [] : [`include[${at}] (${wish})`],
  )
  return caching == null ? unmet : [...unmet, 'prompt_cache_options']
}

/** By default an upstream with this API would store responses and run tools. */
function editsOf({ store, tools, tool_choice: choice }: ResponsesBody): Edits {
  const edits = new Map<string, string | undefined>()
  if (store !== false) edits.set('store', 'false')
  const kept = withoutHosted(tools)
  if (kept === undefined) return edits
  edits.set('tools', kept.length === 0 ? undefined : JSON.stringify(kept))
  if (kept.length === 0 && choice !== undefined) edits.set('tool_choice', undefined)
  return edits
}

/** Stored responses have separate rules for state. */
function isNoState({ extra }: AskedExtra): boolean {
  return extra !== 'store'
}

interface Translated {
  readonly body: ChatBody
  readonly tools: Tools
  readonly lacks: Lacks
}

export function translated(asked: ResponsesBody): Translated {
  const lacks = new Lacks()
  const tools = new Tools(asked, lacks)
  // The gateway cannot do this itself.
  if (asked.truncation === 'auto')
    lacks.note('This gateway does not truncate input; omit "truncation".', 'truncation')
  const stream = asked.stream === true && { stream: true, stream_options: { include_usage: true } }
  const body = {
    model: asked.model,
    messages: messagesOf(asked, tools, lacks),
    ...stream,
    ...optionsOf(asked),
    ...tools.members(),
  }
  return { body, tools, lacks }
}
