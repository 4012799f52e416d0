/** A chat completion: the inner form of every conversation. */
import { ROUTING } from '../../providers/routing-members.ts'
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
  scalar,
  sealed,
  text,
  typed,
  unsent,
  words,
} from './form.ts'
import { free, jsonText } from './free.ts'

const texts = either({ string: text, entries: list(text) })
const cached = {
  cache_control: members({ type: words('ephemeral'), ttl: words('5m', '1h') }),
  prompt_cache_breakpoint: members({
    type: words('ephemeral', 'explicit'),
    ttl: words('5m', '1h'),
  }),
}
const PARTS = {
  text: { text, ...cached },
  refusal: { refusal: text, ...cached },
  image_url: {
    image_url: members({ url: picture, detail: words('auto', 'low', 'high', 'original') }),
    ...cached,
  },
}
const content = either({ string: text, entries: list(typed(PARTS)) })
const called = members({ name: fixed, arguments: jsonText })
const thought = typed({
  thinking: { thinking: fixed, signature: sealed, model: id },
  redacted_thinking: { data: sealed, model: id },
})
const call = typed(
  {
    function: {
      id,
      index: number,
      function: called,
      extra_content: members({ google: members({ thought_signature: sealed }) }),
    },
    custom: { id, index: number, custom: members({ name: fixed, input: text }) },
  },
  'function',
)
const image = typed({
  image_url: {
    image_url: members({ url: picture }),
    index: number,
    extra_content: members({ google: members({ thought_signature: sealed }) }),
  },
})
const MESSAGE = members({
  role: words('system', 'developer', 'user', 'assistant', 'tool', 'function'),
  content,
  name: fixed,
  refusal: text,
  reasoning_content: text,
  reasoning: text,
  images: list(image),
  tool_calls: list(call),
  tool_call_id: id,
  function_call: called,
  thinking_blocks: list(thought),
  prefix: flag,
  partial: flag,
  ...cached,
})

const message: Form = (value, path, seen) => {
  const { role } = Object(value)
  seen.role = typeof role === 'string' ? role : 'user'
  MESSAGE(value, path, seen)
}

/** The texts belong to no message, so their role is system. */
function bySystem(form: Form): Form {
  return (value, path, seen) => {
    seen.role = 'system'
    form(value, path, seen)
    seen.role = 'user'
  }
}

const declared = { name: fixed, description: text }
const functionMembers = members({ ...declared, parameters: free, strict: flag })
const grammar = members({ syntax: words('lark', 'regex'), definition: text })
const tool = typed(
  {
    function: { function: functionMembers, ...cached },
    custom: {
      custom: members({
        ...declared,
        format: typed({ text: {}, grammar: { grammar } }),
      }),
    },
  },
  'function',
)
const named = members({ name: fixed })
const chosen = { type: words('function', 'custom'), function: named, custom: named }
const choice = either({
  string: words('none', 'auto', 'required', 'any'),
  other: members({
    ...chosen,
    type: words('function', 'custom', 'allowed_tools'),
    allowed_tools: members({ mode: words('auto', 'required'), tools: list(members(chosen)) }),
  }),
})
const format = members({
  type: words('text', 'json_object', 'json_schema'),
  json_schema: members({ name: fixed, description: text, schema: free, strict: flag }),
  schema: free,
})
const place = members({ city: text, country: text, region: text, timezone: text })
const search = members({
  search_context_size: words('low', 'medium', 'high'),
  user_location: members({ type: words('approximate'), approximate: place }),
})

/** Templates read them; one of them could bring another template. */
function ofTemplate(name: string): Form | undefined {
  const isTemplate = name === 'chat_template' || name === 'tokenize'
  return isTemplate ? undefined : numbers(name) && either({ string: text, other: scalar })
}

/** Members that the gateway reads and sends to no upstream. */
const routed = Object.fromEntries([...ROUTING, 'model'].map((name) => [name, unsent]))

/** Members that every API has. */
export const SHARED = { ...routed, metadata: free, user: text }

/** Members that every API with generated texts has. */
export const GENERATED = {
  ...SHARED,
  logit_bias: members({}, (name) => (/^\d{1,12}$/.test(name) ? number : undefined)),
  prompt_cache_key: text,
  safety_identifier: text,
  service_tier: words('auto', 'default', 'flex', 'priority', 'scale', 'standard', 'standard_only'),
  stop: texts,
  stop_token_ids: list(number),
  stream_options: members({}, numbers),
}

const CHAT = {
  ...GENERATED,
  cache_salt: text,
  chat_template_kwargs: members({}, ofTemplate),
  function_call: either({ string: words('none', 'auto'), other: named }),
  functions: bySystem(list(functionMembers)),
  messages: list(message),
  modalities: list(words('text', 'audio', 'image')),
  prediction: members({
    type: words('content'),
    content: either({ string: text, entries: list(typed({ text: { text } })) }),
  }),
  prompt_cache_retention: words('in_memory', 'in-memory', '24h'),
  reasoning: members(
    { effort: words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max') },
    numbers,
  ),
  reasoning_effort: words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  response_format: bySystem(format),
  thinking: members({ type: words('enabled', 'disabled', 'adaptive', 'auto') }, numbers),
  tool_choice: choice,
  tools: bySystem(list(tool)),
  verbosity: words('low', 'medium', 'high'),
  web_search_options: search,
}

/** Members that are more than a number. */
export const CHAT_MEMBERS: readonly string[] = Object.keys(CHAT)

export const chat = members(CHAT, numbers)
