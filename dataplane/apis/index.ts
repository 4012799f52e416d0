/** Every API of the client listener. */

import type { Api } from '../request/api.ts'
import { anthropicCountTokens, anthropicMessages } from './anthropic-messages/api.ts'
import { echoHeaders } from './health/echo-headers.ts'
import { healthz, readyz, root } from './health/health.ts'
import { openAiChat } from './openai-chat/api.ts'
import { openAiCompletions } from './openai-completions/api.ts'
import { openAiEmbeddings } from './openai-embeddings/api.ts'
import { openAiModel, openAiModels } from './openai-models/api.ts'
import { openAiCompaction, openAiInputTokens, openAiResponses } from './openai-responses/api.ts'
import {
  keptResponse,
  keptResponseCancelled,
  keptResponseDeleted,
} from './openai-responses/kept/api.ts'
import {
  conversation,
  keptConversation,
  keptConversationChanged,
  keptConversationDeleted,
} from './openai-responses/kept/conversations.ts'
import { rerank, rerankV2 } from './rerank/api.ts'
import { transcription } from './transcription/api.ts'
import { keyUsage } from './usage/api.ts'

export const APIS: readonly Api[] = [
  openAiChat,
  openAiCompletions,
  openAiEmbeddings,
  rerank,
  rerankV2,
  transcription,
  openAiResponses,
  openAiInputTokens,
  openAiCompaction,
  keptResponse,
  keptResponseCancelled,
  keptResponseDeleted,
  conversation,
  keptConversation,
  keptConversationChanged,
  keptConversationDeleted,
  anthropicMessages,
  anthropicCountTokens,
  openAiModels,
  openAiModel,
  keyUsage,
  echoHeaders,
  healthz,
  readyz,
  root,
]
