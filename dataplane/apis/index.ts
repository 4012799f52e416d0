/** Every API of the client listener. */
import type { Api } from './contract.ts'
import { echoHeaders } from './echo-headers.ts'
import { healthz, readyz } from './health.ts'
import { openAiChat } from './openai-chat.ts'
import { openAiModel, openAiModels } from './openai-models.ts'

export const APIS: readonly Api[] = [
  openAiChat,
  openAiModels,
  openAiModel,
  echoHeaders,
  healthz,
  readyz,
]
