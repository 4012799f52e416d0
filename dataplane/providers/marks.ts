/**
 * Cache marks of the inner form: the upstream caches the prompt up to the marked part, message or tool. Clients write
 * `cache_control` in the form of Anthropic, OpenRouter and LiteLLM, or OpenAI's `prompt_cache_breakpoint`.
 */
import { isRecord, type Json, listOf, recordOf } from '../json/values.ts'
import type { ChatBody, ChatMessage, ChatRequest } from '../wire/inner-form.ts'

/** The name that clients use. */
export const MARK = 'cache_control'
const BREAKPOINT = 'prompt_cache_breakpoint'
/** Anthropic and Bedrock accept at most four marks. */
const MARKS_MAX = 4

/** The mark in Anthropic's form; undefined if the holder has none. */
export function markOf(holder: Json): Json | undefined {
  const mark = [holder[MARK], holder[BREAKPOINT]].find(isRecord)
  if (mark === undefined) return undefined
  return { type: 'ephemeral', ...((mark.ttl === '5m' || mark.ttl === '1h') && { ttl: mark.ttl }) }
}

/** A tool may have the mark beside its function or inside it. */
export function markOfTool(tool: Json): Json | undefined {
  return markOf(tool) ?? markOf(recordOf(tool.function))
}

/**
 * The same body if it has few enough marks. Otherwise the marks after tools and instructions stay, and the last ones.
 */
export function withFewMarks(body: ChatBody): ChatBody {
  const lanes: string[] = []
  mapped(body, (holder, lane) => {
    lanes.push(lane)
    return holder
  })
  if (lanes.length <= MARKS_MAX) return body
  const first = [lanes.lastIndexOf('tools'), lanes.lastIndexOf('system')].filter((at) => at >= 0)
  const rest = lanes.keys().filter((at) => !first.includes(at))
  const kept = new Set([...first, ...[...rest].slice(first.length - MARKS_MAX)])
  let at = 0
  return mapped(body, (holder) => (kept.has(at++) ? holder : unmarked(holder)))
}

/** Marks in a body, also where the inner form has no place for them. A schema may have a property of that name. */
const WRITTEN = /"cache_control"\s*:\s*\{[^{}]*"ephemeral"|"prompt_cache_breakpoint"\s*:\s*\{/

/** Whether the client marks where the cached prompt ends. */
export function hasMarks({ body, bytes }: Pick<ChatRequest, 'body' | 'bytes'>): boolean {
  const mayBeWritten = bytes.includes(`"${MARK}"`) || bytes.includes(`"${BREAKPOINT}"`)
  let isThere = mayBeWritten && WRITTEN.test(bytes.toString('latin1'))
  mapped(body, (holder) => {
    isThere ||= markOf(holder) !== undefined
    return holder
  })
  return isThere
}

/** The same body if the client wrote no `cache_control`; OpenAI itself accepts its own form. */
export function withoutMarks(body: ChatBody): ChatBody {
  if (!holdMark(body.messages) && !holdMark(body.tools)) return body
  return mapped(body, (holder) => {
    if (holder[MARK] === undefined) return holder
    const { [MARK]: _mark, ...rest } = holder
    return rest
  })
}

/** Most requests have none. Searches the same places as `mapped` without creating objects. */
function holdMark(list: unknown): boolean {
  if (!Array.isArray(list)) return false
  for (const one of list) {
    const { [MARK]: mark, content, function: called } = recordOf(one)
    if (mark !== undefined || recordOf(called)[MARK] !== undefined || holdMark(content)) return true
  }
  return false
}

/** The same body if the client wrote no mark in any form. */
export function unmarkedBody(body: ChatBody): ChatBody {
  return mapped(body, unmarked)
}

function unmarked({ [MARK]: _mark, [BREAKPOINT]: _breakpoint, ...rest }: Json): Json {
  return rest
}

type MarkChange = (holder: Json, lane: string) => Json

/** Changes each part, message, tool and function that has a mark, in order. */
function mapped(body: ChatBody, change: MarkChange): ChatBody {
  const tools = eachOf(body.tools, (tool) => {
    const called = recordOf(tool.function)
    const inner = seen(called, change, 'tools')
    return seen(inner === called ? tool : { ...tool, function: inner }, change, 'tools')
  })
  const messages = eachOf(body.messages, (message) => {
    const lane = message.role === 'system' || message.role === 'developer' ? 'system' : 'turns'
    const content = eachOf(message.content, (part) => seen(part, change, lane))
    return seen(content === message.content ? message : { ...message, content }, change, lane)
  })
  if (tools === body.tools && messages === body.messages) return body
  // The list is the same, with other members.
  return {
    ...body,
    messages: messages as readonly ChatMessage[],
    ...(tools !== undefined && { tools }),
  }
}

function seen(holder: Json, change: MarkChange, lane: string): Json {
  return markOf(holder) === undefined && holder[MARK] === undefined ? holder : change(holder, lane)
}

/** The same value if nothing changes. */
function eachOf(list: unknown, change: (one: Json) => Json): unknown {
  const all = listOf(list)
  let isSame = true
  const fresh = all.map((one) => {
    if (!isRecord(one)) return one
    const changed = change(one)
    if (changed !== one) isSame = false
    return changed
  })
  return isSame ? list : fresh
}
