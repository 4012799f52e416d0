/** The upstreams by the name of their provider: how they read and answer. */
import { frameOf } from '../../providers/fakes/event-stream.ts'
import type { Answer, Style } from '../model.ts'
import { readAnthropic, readBedrock, readGemini } from './read-blocks.ts'
import { readChat, readResponses } from './read-chat.ts'
import {
  type Said,
  streamAnthropic,
  streamBedrock,
  wholeAnthropic,
  wholeBedrock,
} from './say-blocks.ts'
import { type ChatVoice, streamChat, wholeChat } from './say-chat.ts'
import * as others from './say-others.ts'
import type { Seen } from './seen.ts'

export interface Upstream {
  /** The provider for this service, if it has another name. */
  readonly provider?: string
  readonly models: readonly string[]
  /** Whether its thinking is signed. */
  readonly signs?: boolean
  /** Whether it always makes the ids of calls itself. */
  readonly givesIds?: boolean
  /** Whether the client's request may ask for an effort of any model. */
  read(body: string, path: string): Seen
  whole(answer: Answer, style: Style): string
  stream(answer: Answer, style: Style): Said[]
  /** Whether unsigned thinking is sent back, and cache marks. */
  readonly takes: {
    readonly thinking?: boolean
    readonly marks?: boolean
    readonly signed?: boolean
  }
  readonly isChat?: boolean
  readonly cannotThink?: boolean
  readonly oneCall?: boolean
}

function like(
  models: readonly string[],
  reasoning: ChatVoice['reasoning'],
  more: Partial<Upstream> = {},
): Upstream {
  return {
    models,
    read: (body, path) => {
      if (path.includes('/responses')) return readResponses(body)
      return path.includes('/messages') ? readAnthropic(body) : readChat(body)
    },
    whole: (answer, style) => wholeChat(answer, style, { reasoning }),
    stream: (answer, style) =>
      streamChat(answer, style, { reasoning }).map((data) => ['', data] as const),
    takes: {},
    isChat: true,
    ...more,
  }
}

const CLAUDES = [
  'claude-sonnet-4-5',
  'claude-opus-4-6',
  'claude-opus-4-8',
  'claude-3-5-haiku-latest',
]

export const UPSTREAMS: Readonly<Record<string, Upstream>> = {
  vllm: like(['qwen'], 'reasoning', { takes: { thinking: true } }),
  sglang: like(['qwen'], 'reasoning_content', { takes: { thinking: true } }),
  tgi: like(['tgi'], 'reasoning_content', { cannotThink: true }),
  ollama: {
    models: ['qwen3'],
    read: (body) => readChat(body),
    whole: others.wholeOllama,
    stream: others.streamOllama,
    takes: { thinking: true },
  },
  llamacpp: like(['qwen'], 'reasoning_content', { takes: { thinking: true } }),
  triton: like(['llama'], 'reasoning_content', { cannotThink: true }),
  openai: like(['gpt-4.1', 'gpt-5.1', 'gpt-5.4', 'gpt-5.6'], 'reasoning_content', {
    cannotThink: true,
  }),
  deepseek: like(['deepseek-reasoner', 'kimi-k2-thinking'], 'reasoning_content', {
    provider: 'openai',
    takes: { thinking: true },
  }),
  azure_openai: like(['gpt-4.1', 'gpt-5.1', 'gpt-5.4'], 'reasoning_content', { cannotThink: true }),
  anthropic: {
    models: CLAUDES,
    signs: true,
    givesIds: true,
    read: readAnthropic,
    whole: wholeAnthropic,
    stream: streamAnthropic,
    takes: { marks: true, signed: true },
  },
  gemini: {
    models: ['gemini-2.5-flash', 'gemini-3-pro'],
    signs: true,
    read: readGemini,
    whole: others.wholeGemini,
    stream: others.streamGemini,
    takes: {},
  },
  bedrock: {
    models: CLAUDES.map((name) => `us.anthropic.${name}-v1:0`).concat('amazon.nova-pro-v1:0'),
    signs: true,
    givesIds: true,
    read: readBedrock,
    whole: wholeBedrock,
    stream: streamBedrock,
    takes: { marks: true, signed: true },
  },
  mistral: like(['mistral-large'], 'content', {
    givesIds: true,
    read: (body) => readChat(body, 'OK.'),
  }),
  cohere: {
    models: ['command-a'],
    givesIds: true,
    read: (body) => readChat(body),
    whole: others.wholeCohere,
    stream: others.streamCohere,
    takes: {},
  },
}

/** The bytes of events in the framing of the provider. */
export function bytesOf(mediaType: string, events: readonly Said[]): Buffer {
  const write = (event: string, data: string): Uint8Array => {
    if (mediaType === 'application/x-ndjson') return Buffer.from(`${data}\n`)
    if (mediaType === 'application/vnd.amazon.eventstream') {
      const headers = { ':event-type': event, ':message-type': 'event' }
      return frameOf({ ...headers, ':content-type': 'application/json' }, Buffer.from(data))
    }
    return Buffer.from(`${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`)
  }
  return Buffer.concat(events.map(([event, data]) => write(event, data)))
}
