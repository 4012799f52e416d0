/**
 * How each kind of upstream writes an answer: its beginning, its pieces, its end with the usage,
 * and the whole answer.
 */
import { event } from '../../helpers/fake-upstream.ts'
import { eventFrame } from '../../helpers/providers/fakes/event-stream.ts'

export interface Used {
  readonly prompt: number
  readonly cached: number
  readonly answer: number
}

export interface Tongue {
  readonly type: string
  begin(used: Used): string | Buffer
  /** `used` includes this piece. */
  piece(text: string, used: Used): string | Buffer
  finish(used: Used): string | Buffer
  whole(text: string, used: Used): unknown
}

const openAiUsage = ({ prompt, cached, answer }: Used) => ({
  prompt_tokens: prompt,
  completion_tokens: answer,
  total_tokens: prompt + answer,
  prompt_tokens_details: { cached_tokens: cached },
})

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'served' }

function openAi(repeats: boolean, isText = false): Tongue {
  const chunk = (delta: object, finish_reason: string | null, usage?: object) =>
    event({ ...HEAD, choices: [{ index: 0, ...delta, finish_reason }], ...(usage && { usage }) })
  const counted = (used: Used) => (repeats ? openAiUsage(used) : undefined)
  const said = (text: string) => (isText ? { text } : { delta: { content: text } })
  return {
    type: 'text/event-stream',
    begin: (used) =>
      isText ? '' : chunk({ delta: { role: 'assistant', content: '' } }, null, counted(used)),
    piece: (text, used) => chunk(said(text), null, counted(used)),
    finish: (used) =>
      chunk(isText ? { text: '' } : { delta: {} }, 'stop', counted(used)) +
      event({ ...HEAD, choices: [], usage: openAiUsage(used) }) +
      'data: [DONE]\n\n',
    whole: (text, used) => ({
      ...HEAD,
      choices: [
        {
          index: 0,
          ...(isText ? { text } : { message: { role: 'assistant', content: text } }),
          finish_reason: 'stop',
        },
      ],
      usage: openAiUsage(used),
    }),
  }
}

const named = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const anthropicUsage = ({ prompt, cached, answer }: Used) => ({
  input_tokens: prompt - cached,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
  output_tokens: answer,
})
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'served' }

const anthropic: Tongue = {
  type: 'text/event-stream',
  begin: (used) =>
    named('message_start', {
      message: { ...MESSAGE, content: [], usage: { ...anthropicUsage(used), output_tokens: 1 } },
    }) + named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  piece: (text) => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  finish: (used) =>
    named('content_block_stop', { index: 0 }) +
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: anthropicUsage(used) }) +
    named('message_stop', {}),
  whole: (text, used) => ({
    ...MESSAGE,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: anthropicUsage(used),
  }),
}

const geminiUsage = ({ prompt, cached, answer }: Used) => ({
  promptTokenCount: prompt,
  cachedContentTokenCount: cached,
  candidatesTokenCount: answer,
  totalTokenCount: prompt + answer,
})
const geminiAnswer = (text: string, used: Used, finishReason?: string) => ({
  candidates: [
    {
      index: 0,
      content: { role: 'model', parts: [{ text }] },
      ...(finishReason && { finishReason }),
    },
  ],
  usageMetadata: geminiUsage(used),
  modelVersion: 'served',
  responseId: 'r1',
})

const gemini: Tongue = {
  type: 'text/event-stream',
  begin: () => '',
  piece: (text, used) => event(geminiAnswer(text, used)),
  finish: (used) => event(geminiAnswer('', used, 'STOP')),
  whole: (text, used) => geminiAnswer(text, used, 'STOP'),
}

const bedrockUsage = ({ prompt, cached, answer }: Used) => ({
  inputTokens: prompt - cached,
  outputTokens: answer,
  totalTokens: prompt + answer,
  cacheReadInputTokens: cached,
})

const bedrock: Tongue = {
  type: 'application/vnd.amazon.eventstream',
  begin: () => eventFrame('messageStart', { role: 'assistant' }),
  piece: (text) => eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text } }),
  finish: (used) =>
    Buffer.concat([
      eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
      eventFrame('messageStop', { stopReason: 'end_turn' }),
      eventFrame('metadata', { usage: bedrockUsage(used), metrics: { latencyMs: 1 } }),
    ]),
  whole: (text, used) => ({
    output: { message: { role: 'assistant', content: [{ text }] } },
    stopReason: 'end_turn',
    usage: bedrockUsage(used),
  }),
}

const ollamaUsage = ({ prompt, answer }: Used) => ({
  done: true,
  done_reason: 'stop',
  prompt_eval_count: prompt,
  eval_count: answer,
})
const OLLAMA = { model: 'served', created_at: '2026-01-01T00:00:00Z' }
const ollamaSaid = (content: string) => ({ ...OLLAMA, message: { role: 'assistant', content } })

const ollama: Tongue = {
  type: 'application/x-ndjson',
  begin: () => '',
  piece: (text) => `${JSON.stringify({ ...ollamaSaid(text), done: false })}\n`,
  finish: (used) => `${JSON.stringify({ ...ollamaSaid(''), ...ollamaUsage(used) })}\n`,
  whole: (text, used) => ({ ...ollamaSaid(text), ...ollamaUsage(used) }),
}

const cohereUsage = ({ prompt, answer }: Used) => ({
  billed_units: { input_tokens: prompt, output_tokens: answer },
  tokens: { input_tokens: prompt, output_tokens: answer },
})

const cohere: Tongue = {
  type: 'text/event-stream',
  begin: () =>
    named('message-start', { id: 'c1', delta: { message: { role: 'assistant' } } }) +
    named('content-start', {
      index: 0,
      delta: { message: { content: { type: 'text', text: '' } } },
    }),
  piece: (text) => named('content-delta', { index: 0, delta: { message: { content: { text } } } }),
  finish: (used) =>
    named('content-end', { index: 0 }) +
    named('message-end', { delta: { finish_reason: 'COMPLETE', usage: cohereUsage(used) } }),
  whole: (text, used) => ({
    id: 'c1',
    finish_reason: 'COMPLETE',
    message: { role: 'assistant', content: [{ type: 'text', text }] },
    usage: cohereUsage(used),
  }),
}

const CHAT = openAi(false)

const TONGUES: Readonly<Record<string, Tongue>> = { anthropic, bedrock, cohere, gemini, ollama }

/** `repeats`: whether the upstream sends usage with each piece. */
export function tongueOf(provider: string, path: string, repeats: boolean): Tongue {
  const own = TONGUES[provider]
  if (own !== undefined && !path.includes('/v1/completions')) return own
  if (path.endsWith('/completions') && !path.endsWith('/chat/completions'))
    return openAi(repeats, true)
  return repeats ? openAi(true) : CHAT
}
