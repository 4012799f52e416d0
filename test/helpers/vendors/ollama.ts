/** Ollama's own API: arguments are objects, contents are texts, and pictures are plain base64. */
import { type Checker, entries, isObject, type Json } from './rules/contract.ts'

export const ollama: Checker = ({ path, body }, c) => {
  if (!path.includes('/api/chat')) return
  c.demand(entries(body.messages).length > 0, 'messages', 'messages', 'at least one message')
  for (const [index, message] of entries(body.messages)) {
    const at = `messages[${index}]`
    const { role, content, tool_calls: calls, images } = message
    c.demand(
      ['system', 'user', 'assistant', 'tool'].includes(role),
      'role',
      at,
      `Invalid role "${role}".`,
    )
    c.demand(
      content === undefined || typeof content === 'string',
      'content',
      at,
      'content is a string.',
    )
    for (const [place, call] of entries(calls)) {
      const where = `${at}.tool_calls[${place}]`
      c.demand(
        isObject(call.function?.arguments),
        'arguments',
        where,
        'arguments must be an object.',
      )
      c.demand(!!call.function?.name, 'call-name', where, 'name must be there.')
    }
    for (const [, image] of entries(images))
      c.demand(typeof image === 'string' && !image.startsWith('data:'), 'image', at, 'plain base64')
  }
  c.demand(
    resultsFit(body.messages),
    'call-unanswered',
    'messages',
    'Each call has one result behind it.',
  )
  for (const [index, tool] of entries(body.tools)) {
    c.demand(isObject(tool.function?.parameters), 'schema-type', `tools[${index}]`, 'parameters')
    c.demand(tool.function?.parameters?.type === 'object', 'schema-type', `tools[${index}]`, 'type')
  }
  const levels = [undefined, true, false, 'low', 'medium', 'high', 'max']
  c.demand(levels.includes(body.think), 'think', 'think', `Invalid think value "${body.think}".`)
}

/** By number: templates show the results in their order. */
function resultsFit(messages: Json): boolean {
  let open = 0
  for (const [, { role, tool_calls: calls }] of entries(messages)) {
    if (role === 'tool') open--
    else if (open !== 0) return false
    open += entries(calls).length
  }
  return open === 0
}
