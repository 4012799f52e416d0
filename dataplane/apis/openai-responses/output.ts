/** The items of a response's output in their final form, for answers and for closing events. */

import { type Json, parsed, recordOf } from '../../json/values.ts'
import type { FinishReason, Picture, ToolCall, Usage } from '../../wire/inner-form.ts'
import type { ClientTool } from './request/tools.ts'
import { mintedId } from './session.ts'

export type Status = 'in_progress' | 'completed' | 'incomplete'

export function textPart(text: string): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function refusalPart(refusal: string): Json {
  return { type: 'refusal', refusal }
}

export function messageItem(id: string, content: readonly Json[], status: Status): Json {
  return { id, type: 'message', status, role: 'assistant', content }
}

export function reasoningItem(id: string, text: string | undefined): Json {
  const summary = text === undefined ? [] : [{ type: 'summary_text', text }]
  return { id, type: 'reasoning', summary, encrypted_content: null }
}

/** `picture` is undefined until it arrives. */
export function pictureItem(id: string, picture: Picture | undefined): Json {
  const item = { id, type: 'image_generation_call' }
  if (picture === undefined) return { ...item, status: 'in_progress', result: null }
  const [, format = 'png', result] = DATA_URL.exec(picture.url) ?? []
  return { ...item, status: 'completed', output_format: format, result }
}

const DATA_URL = /^data:image\/([^;,]+)[^,]*,(.*)$/s

export function callItem(
  { id, call }: { readonly id: string; readonly call: ToolCall },
  { kind, name, namespace }: ClientTool,
  status: Status,
): Json {
  const shared = { id, call_id: call.id, name, ...(namespace && { namespace }), status }
  return kind === 'custom'
    ? { ...shared, type: 'custom_tool_call', input: customInput(call.arguments) }
    : { ...shared, type: 'function_call', arguments: call.arguments }
}

/** The text in the arguments; the arguments themselves if the model wrote something else. */
export function customInput(text: string): string {
  const { input } = recordOf(parsed(text))
  return typeof input === 'string' ? input : text
}

export function callItemId({ kind }: ClientTool): string {
  return mintedId(kind === 'custom' ? 'ctc' : 'fc')
}

/** The end of the response: its status, and why it is incomplete. */
export function endOf(finish: FinishReason): {
  readonly status: Status
  readonly details: Json | null
} {
  if (finish === 'length') return { status: 'incomplete', details: { reason: 'max_output_tokens' } }
  if (finish === 'content_filter')
    return { status: 'incomplete', details: { reason: 'content_filter' } }
  return { status: 'completed', details: null }
}

export function usageOf(usage: Usage): Json {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input_tokens: promptTokens,
    input_tokens_details: {
      cached_tokens: cachedTokens,
      cache_write_tokens: cacheWriteTokens ?? 0,
    },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  }
}
