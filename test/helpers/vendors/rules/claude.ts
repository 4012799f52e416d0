/** Requests that Claude refuses by its model, at Anthropic and at Bedrock. */
import type { Complaints, Json } from './contract.ts'

export function checkClaude(body: Json, model: string, c: Complaints): void {
  const { thinking, max_tokens: limit, tool_choice: choice } = body
  const isNew = /(opus-4-[7-9]|(opus|sonnet|haiku|fable|mythos)-[5-9])/.test(model)
  const isOld = /claude-(instant|2|3)|(opus|sonnet|haiku)-4(-[0-5])?(-20\d{6}|-latest|-v\d|$)/.test(
    model,
  )
  for (const name of ['temperature', 'top_p', 'top_k'])
    if (isNew) c.demand(body[name] == null, 'sampling-of-model', name, 'not supported by the model')
  if (thinking?.type === 'enabled') {
    c.demand(!isNew, 'budget-of-model', 'thinking', 'the model wants adaptive thinking')
    c.demand(thinking.budget_tokens >= 1024, 'budget', 'thinking', 'at least 1024')
    c.demand(thinking.budget_tokens < limit, 'budget', 'thinking', 'max_tokens must be greater')
    c.demand(
      limit - thinking.budget_tokens >= Math.min(limit / 2, 1024),
      'budget-room',
      'thinking',
      'no room for an answer',
    )
  }
  if (thinking?.type === 'adaptive')
    c.demand(!isOld, 'adaptive-of-model', 'thinking', 'not supported')
  if (thinking?.type === 'disabled')
    c.demand(
      !isNew || /(opus-5|sonnet-5|haiku-5-5)(-v\d|$)/.test(model),
      'disabled-of-model',
      'thinking',
      'not supported',
    )
  if (thinking?.type === 'between_tools')
    c.demand(/sonnet-5-5/.test(model), 'between-tools-of-model', 'thinking', 'not supported')
  checkEffort(body.output_config?.effort, model, c)
  const isOn = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  const isForced = choice?.type === 'any' || choice?.type === 'tool'
  c.demand(!isOn || !isForced, 'forced-thinking', 'tool_choice', 'Thinking and a forced tool')
  if (isOn) checkThinkingFirst(body.messages, c)
}

function checkEffort(effort: unknown, model: string, c: Complaints): void {
  if (effort === undefined) return
  const has =
    !/claude-(instant|2|3)|(opus-4(-[01])?|sonnet-4(-[05])?|haiku-4(-5)?)(-20\d{6}|-latest|-v\d|$)/.test(
      model,
    )
  c.demand(has, 'effort-of-model', 'output_config', 'does not support the effort parameter')
  const isEarly = /(opus-4-5|(opus|sonnet)-4-6)/.test(model)
  c.demand(effort !== 'xhigh' || !isEarly, 'effort-of-model', 'output_config', 'no xhigh')
}

/** A turn that continues after calls begins with thinking, if the model thinks: before the first of its calls. */
function checkThinkingFirst(messages: Json, c: Complaints): void {
  const hasResult = (message: Json) =>
    message?.role === 'user' &&
    Array.isArray(message.content) &&
    message.content.some(({ type }: Json) => type === 'tool_result')
  if (!hasResult(messages?.at(-1))) return
  let begin = messages.length - 2
  while (begin >= 2 && hasResult(messages[begin - 1])) begin -= 2
  const first = messages[begin]?.content?.[0]?.type
  const fits = first === 'thinking' || first === 'redacted_thinking'
  c.demand(fits, 'thinking-first', 'messages', `Expected thinking, but found ${first}.`)
}
