/**
 * OpenAI's responses as clients send them, before they become the inner form; refuses members that the inner form
 * cannot hold.
 */
import { recordOf } from '../../json/values.ts'
import {
  either,
  type Form,
  fixed,
  flag,
  id,
  list,
  members,
  number,
  numbers,
  picture,
  sealed,
  text,
  typed,
  unsent,
  words,
} from './form.ts'
import { free } from './free.ts'

const cached = { prompt_cache_breakpoint: unsent }
const written = { text, annotations: unsent, logprobs: unsent, ...cached }
const PARTS = {
  input_text: written,
  output_text: written,
  text: written,
  refusal: { refusal: text },
  input_image: {
    image_url: picture,
    detail: words('auto', 'low', 'high', 'original'),
    ...cached,
  },
}
const content = either({ string: text, entries: list(typed(PARTS)) })
/** Members of the item itself; the inner form has no ids of items. */
const own = { id: unsent, status: unsent, created_by: unsent }
const call = { call_id: id, name: fixed, namespace: fixed, caller: unsent, ...own }
const output = { call_id: id, output: content, caller: unsent, ...own }
const ITEMS = {
  message: {
    role: words('user', 'assistant', 'system', 'developer'),
    content,
    phase: unsent,
    ...own,
  },
  function_call: { arguments: text, ...call },
  custom_tool_call: { input: text, ...call },
  function_call_output: output,
  custom_tool_call_output: output,
  image_generation_call: {
    result: sealed,
    output_format: words('png', 'jpeg', 'webp', 'gif'),
    ...own,
  },
  // Reasoning of earlier turns is not sent.
  reasoning: { summary: unsent, content: unsent, encrypted_content: unsent, ...own },
}
const declared = { type: unsent, name: fixed, description: text, defer_loading: flag }
const FUNCTION = members({ ...declared, parameters: free, strict: flag })
/** The translation to the inner form refuses a grammar. */
const CUSTOM = members({ ...declared, format: unsent })

/** Tools that the client does not run are left out. */
const tool: Form = (value, path, seen) => {
  const { type } = recordOf(value)
  if (type === 'function') FUNCTION(value, path, seen)
  else if (type === 'custom') CUSTOM(value, path, seen)
  else if (type === 'namespace') NAMESPACE(value, path, seen)
}
const NAMESPACE = members({ type: unsent, name: fixed, description: unsent, tools: list(tool) })

export const responses = members(
  {
    client_metadata: unsent,
    include: unsent,
    input: either({ string: text, entries: list(typed(ITEMS, 'message')) }),
    instructions: text,
    metadata: unsent,
    model: unsent,
    prompt_cache_key: text,
    prompt_cache_options: unsent,
    prompt_cache_retention: unsent,
    reasoning: members(
      {
        effort: words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
        summary: unsent,
        generate_summary: unsent,
        context: unsent,
      },
      numbers,
    ),
    safety_identifier: text,
    service_tier: words('auto', 'default', 'flex', 'priority', 'scale'),
    store: flag,
    stream: flag,
    stream_options: members({}, numbers),
    text: members({
      format: members({
        type: words('text', 'json_object', 'json_schema'),
        name: fixed,
        description: text,
        schema: free,
        strict: flag,
      }),
      verbosity: words('low', 'medium', 'high'),
    }),
    tool_choice: unsent,
    tools: list(tool),
    top_logprobs: number,
    truncation: words('auto', 'disabled'),
    user: text,
  },
  numbers,
)
