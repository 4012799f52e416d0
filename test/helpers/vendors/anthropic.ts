/** Anthropic: messages of blocks, with the refusals of its models. */
import { checkCalls, type Step } from './rules/calls.ts'
import { checkClaude } from './rules/claude.ts'
import { type Checker, type Complaints, entries, isObject, type Json } from './rules/contract.ts'
import { checkClosedSchema, checkTyped } from './rules/schema.ts'

const MEMBERS =
  'model max_tokens messages cache_control container context_management inference_geo mcp_servers metadata output_config service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p betas'
const BLOCKS: Readonly<Record<string, string>> = {
  text: 'type text cache_control citations',
  image: 'type source cache_control',
  document: 'type source title context citations cache_control',
  tool_use: 'type id name input cache_control caller',
  tool_result: 'type tool_use_id content is_error cache_control',
  thinking: 'type thinking signature',
  redacted_thinking: 'type data',
}
/** Blocks of the vendor's own tools. */
const HOSTED = /^(server_tool_use|mcp_tool_use|container_upload|search_result|\w+_tool_result)$/
export const CLAUDE_NAME = /^[a-zA-Z0-9_-]{1,128}$/
export const CLAUDE_ID = /^[a-zA-Z0-9_-]+$/
const TOOL =
  'name description input_schema type strict cache_control allowed_callers defer_loading eager_input_streaming input_examples'

export const anthropic: Checker = ({ path, headers = {}, body }, c) => {
  if (!/\/messages(\?|$)/.test(path)) return
  c.demand('anthropic-version' in headers, 'version', 'headers', 'anthropic-version is required.')
  checkMessages(body, c)
}

export function checkMessages(body: Json, c: Complaints): void {
  c.knows(body, MEMBERS, 'body')
  c.demand(body.max_tokens >= 0, 'max-tokens', 'max_tokens', 'It is required.')
  c.demand(entries(body.messages).length > 0, 'messages', 'messages', 'at least one message')
  const steps: Step[] = []
  for (const [index, message] of entries(body.messages)) steps.push(stepOf(message, index, c))
  checkCalls(steps, { id: CLAUDE_ID, name: CLAUDE_NAME }, c)
  c.demand(
    body.messages?.[0]?.role === 'user',
    'first-role',
    'messages',
    'the first is of the user',
  )
  checkLast(body.messages?.at(-1), c)
  for (const [index, block] of entries(body.system)) checkBlock(block, `system.${index}`, c)
  for (const [index, tool] of entries(body.tools)) checkTool(tool, `tools.${index}`, c)
  const marks = JSON.stringify(body).split('"cache_control":{').length - 1
  c.demand(marks <= 4, 'cache-marks', 'body', `${marks} cache marks; at most 4.`)
  const { output_config: output } = body
  if (output?.format !== undefined)
    checkClosedSchema(output.format.schema, 'output_config.format', c)
  checkClaude(body, String(body.model), c)
  if (typeof body.metadata?.user_id === 'string')
    c.demand(body.metadata.user_id.length <= 512, 'long user_id', 'metadata.user_id', 'too long')
}

function stepOf({ role, content, ...rest }: Json, index: number, c: Complaints): Step {
  const at = `messages.${index}`
  c.knows(rest, '', at)
  c.demand(
    role === 'user' || role === 'assistant' || role === 'system',
    'role',
    at,
    `Role ${role}.`,
  )
  if (typeof content === 'string') {
    c.text(content, at)
    return { at, calls: [], results: [] }
  }
  const blocks: Json[] = entries(content).map(([, block]) => block)
  c.demand(blocks.length > 0, 'no-content', at, 'content must not be empty.')
  for (const [place, block] of blocks.entries()) checkBlock(block, `${at}.content.${place}`, c)
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const isFirst = blocks.slice(0, results.length).every(({ type }) => type === 'tool_result')
  c.demand(isFirst, 'results-first', at, 'tool_result blocks come first.')
  if (role === 'user') c.demand(calls.length === 0, 'role', at, 'tool_use of the user')
  else c.demand(results.length === 0, 'role', at, 'tool_result of the assistant')
  return { at, calls, results: results.map((one) => ({ id: one.tool_use_id })) }
}

function checkBlock(block: Json, at: string, c: Complaints): void {
  if (HOSTED.test(block.type)) return
  const members = BLOCKS[block.type]
  if (members === undefined) c.add('block-type', at, `Unknown block "${block.type}".`)
  else c.knows(block, members, at)
  if (block.type === 'text') c.text(block.text, at)
  if (block.type === 'tool_use')
    c.demand(isObject(block.input), 'input', at, 'input must be an object.')
  if (block.type === 'thinking')
    c.demand(
      typeof block.signature === 'string' && block.signature !== '',
      'unsigned',
      at,
      'signature',
    )
  if (block.type === 'thinking' && block.thinking === undefined)
    c.add('thinking', at, 'no thinking')
  if (block.type === 'tool_result' && Array.isArray(block.content))
    for (const [index, part] of entries(block.content))
      checkBlock(part, `${at}.content.${index}`, c)
  if (block.cache_control != null && block.type === 'text') c.text(block.text, at)
}

function checkLast(last: Json, c: Complaints): void {
  if (last?.role !== 'assistant') return
  const text = typeof last.content === 'string' ? last.content : last.content?.at(-1)?.text
  if (typeof text === 'string')
    c.demand(text === text.trimEnd(), 'trailing-space', 'messages', 'final assistant text')
}

function checkTool(tool: Json, at: string, c: Complaints): void {
  if (tool.type !== undefined && tool.type !== 'custom') return
  c.knows(tool, TOOL, at)
  c.demand(CLAUDE_NAME.test(tool.name), 'tool-name', at, `Invalid name "${tool.name}".`)
  const isDeferred = tool.defer_loading === true && tool.cache_control != null
  c.demand(!isDeferred, 'cache-mark', at, 'A tool with defer_loading takes no cache_control.')
  checkTyped(tool.input_schema, at, c)
  if (tool.strict === true) checkClosedSchema(tool.input_schema, at, c)
}
