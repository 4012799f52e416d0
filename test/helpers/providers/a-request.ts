/** Builds the arguments of providers: a request as the gateway has read it, and the settings of an upstream. */

import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { OPENAI_CHAT } from '../../../dataplane/apis/openai-chat/reading.ts'
import { openAiCompletionsDialect } from '../../../dataplane/apis/openai-completions/dialect.ts'
import { openAiEmbeddingsDialect } from '../../../dataplane/apis/openai-embeddings/dialect.ts'
import { rerankDialect } from '../../../dataplane/apis/rerank/dialect.ts'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { MembersScan } from '../../../dataplane/json/members.ts'
import { Unwritten } from '../../../dataplane/json/unwritten.ts'
import { capabilitiesOf } from '../../../dataplane/providers/facts-of-models.ts'
import type { ProviderName } from '../../../dataplane/providers/index.ts'
import { type Pair, pairOf } from '../../../dataplane/translation/pair.ts'
import type {
  ChatBody,
  ChatRequest,
  CompletionsRequest,
  EmbeddingsRequest,
  ModelRequest,
  RerankRequest,
} from '../../../dataplane/wire/inner-form.ts'
import type {
  AnswerOrigin,
  Passed,
  Provider,
  ProviderSettings,
  UpstreamRequest,
  WireReader,
} from '../../../dataplane/wire/provider.ts'

const MINIMAL: ChatBody = { model: 'public-name', messages: [{ role: 'user', content: 'Hi' }] }

const CREATED_SECONDS = 1_767_323_045

/** From its members; omitted ones are valid. */
export function aRequest(members: Readonly<Record<string, unknown>> = {}): ChatRequest {
  return aRequestOf(JSON.stringify({ ...MINIMAL, ...members }))
}

/** From the text of a client. */
export function aRequestOf(text: string): ChatRequest {
  const bytes = Buffer.from(text)
  const body = JSON.parse(text) as ChatBody
  const found = new MembersScan(bytes)
  found.run(bytes.length)
  return {
    operation: 'chat',
    wire: OPENAI_CHAT,
    bytes,
    body,
    found,
    spans: found.spans,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    isUsageRepeated: body.stream_options?.continuous_usage_stats === true,
    oneCall: body.parallel_tool_calls === false,
    takesPictures: true,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    choices: typeof body.n === 'number' ? body.n : 1,
    promptTokensMax: bytes.length,
    createdSeconds: CREATED_SECONDS,
    sparse: false,
  }
}

/** The body of a request as it is sent. */
export function bytesOf(body: UpstreamRequest['body']): Buffer {
  return body instanceof Unwritten ? atOnce(body.whole()) : Buffer.from(body)
}

/** Used in answers without a model and an id. */
export const ORIGIN: AnswerOrigin = { model: 'upstream-model', id: 'req-1' }

/** A pair whose answers come from one upstream. */
interface Asked extends Pick<Pair, 'encode'> {
  decode(body: Buffer, request: ModelRequest): Passed
  openStream(request: ModelRequest): WireReader | undefined
}

/** A request for legacy completions, from its members; omitted ones are valid. */
export function aCompletionsRequest(
  members: Readonly<Record<string, unknown>> = {},
): CompletionsRequest {
  const bytes = Buffer.from(JSON.stringify({ model: 'public-name', prompt: 'Hi', ...members }))
  return parseRequest(bytes, openAiCompletionsDialect.reading, CREATED_SECONDS)
}

/** A client of legacy completions and this provider. */
export function completionsWith(provider: Provider): Asked {
  return askedOf(pairOf(openAiCompletionsDialect, provider) as Pair)
}

/** A request for vectors, from its members; omitted ones are valid. */
export function anEmbeddingsRequest(
  members: Readonly<Record<string, unknown>> = {},
): EmbeddingsRequest {
  const bytes = Buffer.from(JSON.stringify({ model: 'public-name', input: 'Hi', ...members }))
  return parseRequest(bytes, openAiEmbeddingsDialect.reading, CREATED_SECONDS)
}

/** A client of embeddings and this provider. */
export function embeddingsWith(provider: Provider): Asked {
  return askedOf(pairOf(openAiEmbeddingsDialect, provider) as Pair)
}

/** A request for a ranking of documents, from its members; omitted ones are valid. */
export function aRerankRequest(members: Readonly<Record<string, unknown>> = {}): RerankRequest {
  const valid = { model: 'public-name', query: 'Hi', documents: ['one', 'two', 'three'] }
  const bytes = Buffer.from(JSON.stringify({ ...valid, ...members }))
  return parseRequest(bytes, rerankDialect.reading, CREATED_SECONDS)
}

/** A client of rerank and this provider. */
export function rerankWith(provider: Provider): Asked {
  return askedOf(pairOf(rerankDialect, provider) as Pair)
}

/** A client of chat completions and this provider. */
export function chatWith(provider: Provider): Asked {
  return askedOf(pairOf(openAiChatDialect, provider) as Pair)
}

function askedOf(pair: Pair): Asked {
  return {
    encode: pair.encode,
    decode(body, request) {
      const decoded = pair.decode(body, request, ORIGIN)
      if (decoded.kind === 'inspected') throw new Error('An answer of a test is short.')
      return decoded
    },
    openStream: (request) => pair.openStream(request, ORIGIN),
  }
}

/** The same, for its streams. */
export function chatStream(provider: Provider, request: ChatRequest): WireReader {
  return chatWith(provider).openStream(request) as WireReader
}

/** The settings of an upstream of the provider, with the known facts about its model. */
export function settingsOf(
  provider: string,
  settings: Partial<ProviderSettings> = {},
): ProviderSettings {
  const some = someSettings(settings)
  const { model } = some
  const known = capabilitiesOf({ provider: provider as ProviderName, model })
  return { ...some, capabilities: { ...known, ...settings.capabilities } }
}

export function someSettings(settings: Partial<ProviderSettings> = {}): ProviderSettings {
  return {
    model: 'upstream-model',
    capabilities: {},
    credential: 'sk-upstream-secret',
    apiVersion: undefined,
    deployment: undefined,
    region: undefined,
    project: undefined,
    ...settings,
  }
}
