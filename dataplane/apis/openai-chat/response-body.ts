/** The body of a response at the path of chat completions, as Cursor sends it. The answer is a chat completion. */
import { invalid } from '../../body/request.ts'
import { isRecord, recordOf } from '../../json/values.ts'
import { extrasOf } from '../../providers/extras/asked.ts'
import { promptTokensMax } from '../../tokens/count.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type { BodyFacts } from '../../wire/reading.ts'
import { droppedOf, translated } from '../openai-responses/request/reading.ts'
import { checkShape, type ResponsesBody, stateOf } from '../openai-responses/request/shape.ts'

/** No upstream gets the client's bytes, because neither API accepts them. */
const WIRE = 'openai-response-at-chat'

/** A chat completion has messages, and no input. */
export function isResponseBody(tree: unknown): tree is ResponsesBody {
  if (!isRecord(tree) || tree.input == null) return false
  return tree.messages == null || (Array.isArray(tree.messages) && tree.messages.length === 0)
}

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function chatOfResponse(tree: ResponsesBody, facts: BodyFacts): ChatRequest {
  const { messages: _, ...asked } = tree
  checkShape(asked)
  const state = stateOf(asked)
  if (state !== undefined) throw invalid(state.message, state.param)
  const { body, tools, lacks } = translated(asked)
  const extras = [...lacks.files, ...extrasOf(asked)]
  const dropped = droppedOf(asked, tools, facts)
  return {
    operation: 'chat',
    wire: WIRE,
    isRewritten: true,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    stream: asked.stream === true,
    includeUsage: recordOf(asked.stream_options).include_usage === true,
    oneCall: body.parallel_tool_calls === false,
    takesPictures: true,
    maxTokens: asked.max_output_tokens ?? undefined,
    choices: 1,
    promptTokensMax: promptTokensMax(facts.bytes, body),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    ...(dropped.length > 0 && { dropped }),
    ...(extras.length > 0 && { extras }),
    ...(lacks.first && { untranslated: lacks.first }),
  }
}
