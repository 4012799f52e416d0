/** Rules of OpenAI's Responses. */
import { checkCalls, type Step } from './calls.ts'
import { type Complaints, entries, type Json } from './contract.ts'
import { checkOpenAiSchema } from './schema.ts'

const MEMBERS =
  'model input instructions background client_metadata context_management conversation include max_output_tokens max_tool_calls metadata moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user'
const ITEMS: Readonly<Record<string, string>> = {
  message: 'type role content id status phase end_turn',
  function_call: 'type call_id name arguments id status namespace',
  function_call_output: 'type call_id output id status',
  reasoning: 'type id summary content encrypted_content status',
}
const PARTS: Readonly<Record<string, string>> = {
  input_text: 'type text prompt_cache_breakpoint',
  output_text: 'type text annotations logprobs',
  refusal: 'type refusal',
  input_image: 'type image_url detail file_id prompt_cache_breakpoint',
  input_file: 'type file_data file_id file_url filename detail prompt_cache_breakpoint',
}
const NAME = /^[a-zA-Z0-9_-]{1,64}$/

export function checkResponses(body: Json, c: Complaints): void {
  c.knows(body, MEMBERS, 'body')
  for (const [index, item] of entries(body.input)) {
    const at = `input[${index}]`
    const type = item.type ?? 'message'
    const members = ITEMS[type]
    if (members !== undefined) c.knows(item, members, at)
    checkItem(item, type, at, c)
  }
  checkCalls(
    turnsOf(entries(body.input).map(([, item]) => item)),
    { id: /^.{1,64}$/s, name: NAME },
    c,
  )
  for (const [index, tool] of entries(body.tools)) {
    if (tool.type !== 'function') continue
    c.demand(NAME.test(tool.name), 'tool-name', `tools[${index}]`, `Invalid name "${tool.name}".`)
    checkOpenAiSchema(tool.parameters ?? undefined, `tools[${index}]`, c)
  }
}

/** Calls and results are in one list: consecutive calls are a turn, and so are results. */
function turnsOf(items: readonly Json[]): Step[] {
  const turns: { at: string; calls: Json[]; results: Json[] }[] = []
  for (const [index, { type, call_id: id, name }] of items.entries()) {
    const [isCall, isResult] = [type === 'function_call', type === 'function_call_output']
    if (!isCall && !isResult) continue
    let turn = turns.at(-1)
    if (turn === undefined || (isCall ? turn.results : turn.calls).length > 0) {
      turn = { at: `input[${index}]`, calls: [], results: [] }
      turns.push(turn)
    }
    if (isCall) turn.calls.push({ id, name })
    else turn.results.push({ id })
  }
  return turns
}

function checkItem(item: Json, type: string, at: string, c: Complaints): void {
  if (type === 'message') {
    const isOwn = item.role === 'assistant'
    for (const [index, part] of entries(item.content)) {
      const members = PARTS[part.type]
      const place = `${at}.content[${index}]`
      const fits = isOwn === (part.type === 'output_text' || part.type === 'refusal')
      if (members === undefined || !fits) c.add('part-type', place, `Invalid part "${part.type}".`)
      else c.knows(part, members, place)
    }
  }
  if (type === 'function_call')
    c.demand(typeof item.arguments === 'string', 'arguments', at, 'arguments must be a string.')
  if (type === 'reasoning') {
    c.demand(Array.isArray(item.summary), 'reasoning', at, 'summary must be a list.')
    c.demand(typeof item.id === 'string', 'reasoning', at, 'id must be there.')
  }
}
