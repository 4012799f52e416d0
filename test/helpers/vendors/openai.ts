/** OpenAI: chat completions and Responses, with the refusals of its models. */

import type { Checker, Complaints, Json } from './rules/contract.ts'
import {
  type ChatRules,
  checkChat,
  OPENAI_MEMBERS,
  OPENAI_MESSAGE,
  OPENAI_PART,
} from './rules/openai-chat.ts'
import { checkCompletion, checkVectors, OPENAI_TEXT, OPENAI_VECTORS } from './rules/operations.ts'
import { checkResponses } from './rules/responses.ts'

export const OPENAI_CHAT: ChatRules = {
  members: OPENAI_MEMBERS,
  message: OPENAI_MESSAGE,
  part: OPENAI_PART,
  roles: 'system developer user assistant tool function',
  callId: /^.{1,64}$/s,
  name: /^[a-zA-Z0-9_-]{1,64}$/,
  callMembers: 'id type function custom',
  checksSchemas: true,
}

/** DeepSeek, Kimi and other services with OpenAI's API: they ignore unknown members. */
export const deepseek: Checker = ({ path, body }, c) => {
  const { roles, name, callId } = OPENAI_CHAT
  if (path.includes('/chat/completions')) checkChat(body, { roles, name, callId }, c)
}

export const openai: Checker = ({ path, body }, c) => {
  if (path.includes('/chat/completions')) checkOpenAiChat(body, c)
  else if (/\/responses(\?|$)/.test(path)) checkResponses(body, c)
  else checkOpenAiTexts(path, body, c)
}

export function checkOpenAiTexts(path: string, body: Json, c: Complaints): void {
  const rules = { tokens: true, several: true }
  if (/\/completions(\?|$)/.test(path)) checkCompletion(body, { ...rules, members: OPENAI_TEXT }, c)
  if (/\/embeddings(\?|$)/.test(path)) checkVectors(body, { ...rules, members: OPENAI_VECTORS }, c)
}

export function checkOpenAiChat(body: Json, c: Complaints): void {
  checkChat(body, OPENAI_CHAT, c)
  checkLengths(body, c)
  const model = String(body.model)
  const reasons = /^(o\d|gpt-[5-9])/.test(model)
  const effort = body.reasoning_effort
  if (!reasons) {
    // Nothing is known about models with other names.
    const cannot = /^gpt-[34]/.test(model)
    c.demand(
      effort == null || !cannot,
      'effort-of-model',
      'reasoning_effort',
      `${model} does not reason.`,
    )
    return
  }
  c.demand(
    body.max_tokens == null,
    'max-tokens-of-model',
    'max_tokens',
    'use max_completion_tokens',
  )
  for (const name of ['temperature', 'top_p'])
    c.demand(
      effort === 'none' || body[name] == null || body[name] === 1,
      'sampling-of-model',
      name,
      'the default alone',
    )
  c.demand(body.stop == null, 'stop-of-model', 'stop', 'not supported')
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0
  const isNew = /^gpt-5\.([4-9]|\d\d)/.test(model)
  const wantsNone = /^gpt-5\.([6-9]|\d\d)/.test(model)
  const isOff = effort === 'none' || (effort == null && !wantsNone)
  c.demand(
    !hasTools || !isNew || isOff,
    'tools-with-effort',
    'reasoning_effort',
    'use /v1/responses',
  )
}

export function checkLengths(body: Json, c: Complaints): void {
  const most = { user: 64, safety_identifier: 64, prompt_cache_key: 64 }
  for (const [name, length] of Object.entries(most))
    if (typeof body[name] === 'string')
      c.demand(body[name].length <= length, `long ${name}`, name, `at most ${length} characters`)
}
