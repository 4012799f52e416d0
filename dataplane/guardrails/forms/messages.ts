/**
 * Anthropic's messages as clients send them, before they become the inner form; refuses members that the inner form
 * cannot hold.
 */
import {
  either,
  type Form,
  flag,
  id,
  list,
  members,
  number,
  numbers,
  picture,
  refused,
  scalar,
  sealed,
  text,
  typed,
  unsent,
  words,
} from './form.ts'
import { free } from './free.ts'

const cached = { cache_control: unsent }
const textBlock = { text: { text, citations: refused, ...cached } }
const textBlocks = either({ string: text, entries: list(typed(textBlock)) })
const imageSource = typed({
  url: { url: picture },
  base64: {
    data: sealed,
    media_type: words('image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/jpg'),
  },
})
const image = { image: { source: imageSource, ...cached } }
const documentSource = typed({
  text: { data: text, media_type: words('text/plain') },
  content: { content: textBlocks },
})
const cited = { citations: members({ enabled: flag }), ...cached }
const read = {
  document: { source: documentSource, title: text, context: text, ...cited },
  search_result: { content: list(typed(textBlock)), source: text, title: text, ...cited },
}
const result = {
  content: either({ string: text, entries: list(typed({ ...textBlock, ...image, ...read })) }),
  is_error: flag,
  tool_use_id: id,
  ...cached,
}
const caller = members({ type: words('direct') })
const block = typed({
  ...textBlock,
  ...image,
  ...read,
  thinking: { thinking: text, signature: sealed },
  redacted_thinking: { data: sealed },
  tool_use: { id, name: text, input: free, caller, ...cached },
  tool_result: result,
})
const message = members({
  role: words('user', 'assistant', 'system'),
  content: either({ string: text, entries: list(block) }),
})
const tool = typed(
  {
    custom: {
      name: text,
      description: text,
      input_schema: free,
      strict: flag,
      defer_loading: flag,
      eager_input_streaming: flag,
      allowed_callers: list(words('direct')),
      ...cached,
    },
  },
  'custom',
)
const TOP: Readonly<Record<string, Form>> = {
  cache_control: unsent,
  context_management: unsent,
  inference_geo: unsent,
  max_tokens: number,
  messages: list(message),
  metadata: members({ user_id: text }),
  model: unsent,
  output_config: members({
    effort: words('low', 'medium', 'high', 'xhigh', 'max'),
    format: members({ type: words('json_schema'), schema: free }),
    task_budget: unsent,
  }),
  service_tier: unsent,
  speed: unsent,
  stop_sequences: list(text),
  stream: flag,
  system: textBlocks,
  temperature: number,
  thinking: members(
    {
      type: words('enabled', 'disabled', 'adaptive'),
      display: words('summarized', 'omitted', 'full'),
    },
    numbers,
  ),
  tool_choice: members({
    type: words('auto', 'any', 'tool', 'none'),
    name: text,
    disable_parallel_tool_use: flag,
  }),
  tools: list(tool),
  top_k: number,
  top_p: number,
}

export const messages = members(TOP, (name) => (numbers(name) === undefined ? undefined : scalar))
