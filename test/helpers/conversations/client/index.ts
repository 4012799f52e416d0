/** The clients by the name of their API, each with the dialect that serves it. */
import { anthropicMessagesDialect } from '../../../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiChatDialect } from '../../../../dataplane/apis/openai-chat/dialect.ts'
import { openAiResponsesDialect } from '../../../../dataplane/apis/openai-responses/dialect.ts'
import type { Dialect } from '../../../../dataplane/wire/dialect.ts'
import { chatClient } from './chat.ts'
import type { Client } from './contract.ts'
import { messagesClient } from './messages.ts'
import { responsesClient } from './responses.ts'

export interface Served extends Client {
  readonly dialect: Dialect
}

/** Cursor sends the body of a response to the path of chat completions, and reads a chat completion. */
export const CURSOR: Served = {
  ...chatClient,
  name: 'cursor',
  write: responsesClient.write,
  dialect: openAiChatDialect as Dialect,
}

export const CLIENTS: readonly Served[] = [
  { ...chatClient, dialect: openAiChatDialect as Dialect },
  { ...messagesClient, dialect: anthropicMessagesDialect as Dialect },
  { ...responsesClient, dialect: openAiResponsesDialect as Dialect },
]
