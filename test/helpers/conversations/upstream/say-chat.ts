/** Answers in the family of chat completions. */
import { Raw, written } from '../json-text.ts'
import type { Answer, Style } from '../model.ts'
import { type CallPiece, type Piece, piecesOf } from './pieces.ts'

const USAGE = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 }
const HEAD = { id: 'chatcmpl-up', created: 1_767_323_045, model: 'served' }

export interface ChatVoice {
  /** The name of the member with the model's reasoning. */
  readonly reasoning: 'reasoning_content' | 'reasoning' | 'content'
}

export function wholeChat(
  { thinking, text, calls }: Answer,
  style: Style,
  voice: ChatVoice,
): string {
  const tools = calls.map(({ id, name, args }) => ({
    ...(id !== '' && { id }),
    type: 'function',
    function: { name, arguments: args },
  }))
  const content = calls.length > 0 && text === '' ? null : text
  const message = {
    role: 'assistant',
    content,
    ...(thinking && reasoned(thinking.text, text, voice)),
    ...(calls.length > 0 && { tool_calls: tools }),
  }
  const choice = { index: 0, message, finish_reason: finishOf(calls.length > 0, style) }
  const usage = style.usage === 'absent' ? {} : { usage: USAGE }
  return written({ ...HEAD, object: 'chat.completion', choices: [choice], ...usage })
}

/** Mistral's content is a list if the model thinks. */
function reasoned(thinking: string, text: string, { reasoning }: ChatVoice): object {
  if (reasoning !== 'content') return { [reasoning]: thinking }
  const parts = [{ type: 'thinking', thinking: [{ type: 'text', text: thinking }] }]
  return { content: text === '' ? parts : [...parts, { type: 'text', text }] }
}

function finishOf(calls: boolean, { finish }: Style): string {
  return calls === (finish !== 'contradicts') ? 'tool_calls' : 'stop'
}

/** The events' data. */
export function streamChat(answer: Answer, style: Style, voice: ChatVoice): string[] {
  const out: string[] = []
  const usage = { usage: USAGE }
  const send = (delta: object, finish: string | null, more: object = {}) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const each = style.usage === 'each' ? usage : {}
    out.push(written({ ...HEAD, object: 'chat.completion.chunk', choices, ...each, ...more }))
  }
  send({ role: 'assistant', content: '' }, null, style.usage === 'first' ? usage : {})
  for (const piece of piecesOf(answer, style)) send(deltaOf(piece, style, voice), null)
  const beside = style.usage === 'with finish' ? usage : {}
  send({}, finishOf(answer.calls.length > 0, style), beside)
  if (style.usage === undefined)
    out.push(written({ ...HEAD, object: 'chat.completion.chunk', choices: [], ...usage }))
  out.push('[DONE]')
  return out
}

function deltaOf({ thinking, text, calls }: Piece, style: Style, { reasoning }: ChatVoice): object {
  const list = [{ type: 'thinking', thinking: [{ type: 'text', text: thinking }] }]
  return {
    ...(thinking !== undefined &&
      (reasoning === 'content' ? { content: list } : { [reasoning]: thinking })),
    ...(text !== undefined && { content: text }),
    ...(calls && { tool_calls: calls.map((call) => callOf(call, style)) }),
  }
}

function callOf({ at, id, name, args }: CallPiece, { index }: Style): object {
  const isBegun = id !== undefined || name !== undefined
  return {
    ...(index !== 'absent' && { index: new Raw(index === 'shared' ? '0' : String(at)) }),
    ...(id !== undefined && { id }),
    ...(isBegun && { type: 'function' }),
    function: {
      ...(name !== undefined && { name }),
      ...(args !== undefined && { arguments: args }),
    },
  }
}
