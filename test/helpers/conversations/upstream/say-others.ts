/** Answers of Gemini, Cohere and Ollama. */
import { aRandom } from '../../random.ts'
import { Raw, written } from '../json-text.ts'
import { type Answer, PICTURE, type Style } from '../model.ts'
import { cutSafely } from './pieces.ts'
import type { Said } from './say-blocks.ts'

/** Servers write no line ends between the members of an event. */
const objectOf = (args: string) => new Raw(args === '' ? '{}' : args.replace(/\n/g, ' '))
const COUNTS = { promptTokenCount: 9, candidatesTokenCount: 5, totalTokenCount: 14 }
const GEMINI = { modelVersion: 'served', responseId: 'r1' }

function geminiParts(
  { thinking, text, calls, picture }: Answer,
  cut: (text: string) => string[],
): object[] {
  return [
    ...(thinking ? cut(thinking.text).map((one) => ({ text: one, thought: true })) : []),
    ...(text === '' ? [] : cut(text).map((one) => ({ text: one }))),
    ...(picture ? [{ inlineData: { mimeType: 'image/png', data: PICTURE } }] : []),
    ...calls.map(({ id, name, args }, at) => ({
      functionCall: {
        ...(id !== '' && { id }),
        name,
        ...(args !== '' && { args: objectOf(args) }),
      },
      ...(at === 0 && thinking?.signature && { thoughtSignature: thinking.signature }),
    })),
  ]
}

export function wholeGemini(answer: Answer): string {
  const content = { role: 'model', parts: geminiParts(answer, (text) => [text]) }
  const candidates = [{ content, finishReason: 'STOP', index: 0 }]
  return written({ candidates, usageMetadata: COUNTS, ...GEMINI })
}

export function streamGemini(answer: Answer, style: Style): Said[] {
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const parts = geminiParts(answer, (text) => cutSafely(text, random, many))
  const out: Said[] = []
  const send = (some: readonly object[], more: object) => {
    const candidates = [{ content: { role: 'model', parts: some }, index: 0, ...more }]
    out.push(['', written({ candidates, usageMetadata: COUNTS, ...GEMINI })])
  }
  while (parts.length > 1) send(parts.splice(0, style.calls === 'together' ? 2 : 1), {})
  send(parts, { finishReason: 'STOP' })
  return out
}

const TOKENS = {
  billed_units: { input_tokens: 9, output_tokens: 5 },
  tokens: { input_tokens: 9, output_tokens: 5 },
}

export function wholeCohere(answer: Answer, style: Style): string {
  const { thinking, text, calls } = answer
  const content = [
    ...(thinking ? [{ type: 'thinking', thinking: thinking.text }] : []),
    ...(text === '' ? [] : [{ type: 'text', text }]),
  ]
  const made = calls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  const message = {
    role: 'assistant',
    ...(content.length > 0 && { content }),
    ...(made.length > 0 && { tool_calls: made }),
  }
  return written({ id: 'c1', finish_reason: cohereWord(answer, style), message, usage: TOKENS })
}

function cohereWord({ calls }: Answer, { finish }: Style): string {
  return calls.length > 0 === (finish !== 'contradicts') ? 'TOOL_CALL' : 'COMPLETE'
}

export function streamCohere(answer: Answer, style: Style): Said[] {
  const { thinking, text, calls } = answer
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const out: Said[] = []
  const send = (type: string, message: object, more: object = {}) =>
    out.push([type, written({ type, ...more, delta: { message } })])
  send(
    'message-start',
    { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] },
    { id: 'c1' },
  )
  let index = 0
  const block = (type: 'text' | 'thinking', pieces: readonly string[]) => {
    send('content-start', { content: { type, [type]: '' } }, { index })
    for (const one of pieces) send('content-delta', { content: { [type]: one } }, { index })
    out.push(['content-end', written({ type: 'content-end', index })])
    index++
  }
  if (thinking) block('thinking', cutSafely(thinking.text, random, many))
  if (text !== '') block('text', cutSafely(text, random, many))
  for (const [at, { id, name, args }] of calls.entries()) {
    const begun = { id, type: 'function', function: { name, arguments: '' } }
    send('tool-call-start', { tool_calls: begun }, { index: at })
    for (const one of cutSafely(args, random, many))
      send('tool-call-delta', { tool_calls: { function: { arguments: one } } }, { index: at })
    out.push(['tool-call-end', written({ type: 'tool-call-end', index: at })])
  }
  const delta = { finish_reason: cohereWord(answer, style), usage: TOKENS }
  out.push(['message-end', written({ type: 'message-end', delta })])
  return out
}

const DONE = { done: true, done_reason: 'stop', prompt_eval_count: 9, eval_count: 5 }
const OLLAMA = { model: 'served', created_at: '2026-01-02T03:04:05.1Z' }

function ollamaCalls({ calls }: Answer): object[] {
  return calls.map(({ id, name, args }, index) => ({
    ...(id !== '' && { id }),
    function: { index, name, arguments: objectOf(args) },
  }))
}

export function wholeOllama(answer: Answer): string {
  const { thinking, text, calls } = answer
  const made = calls.length > 0 && { tool_calls: ollamaCalls(answer) }
  const message = {
    role: 'assistant',
    content: text,
    ...(thinking && { thinking: thinking.text }),
    ...made,
  }
  return written({ ...OLLAMA, message, ...DONE })
}

export function streamOllama(answer: Answer, style: Style): Said[] {
  const { thinking, text } = answer
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const out: Said[] = []
  const send = (message: object, more: object = { done: false }) =>
    out.push([
      '',
      written({ ...OLLAMA, message: { role: 'assistant', content: '', ...message }, ...more }),
    ])
  if (thinking) for (const one of cutSafely(thinking.text, random, many)) send({ thinking: one })
  for (const content of cutSafely(text, random, many)) send({ content })
  const made = ollamaCalls(answer)
  if (made.length > 0 && style.calls === 'together') send({ tool_calls: made })
  else for (const call of made) send({ tool_calls: [call] })
  send({}, DONE)
  return out
}
