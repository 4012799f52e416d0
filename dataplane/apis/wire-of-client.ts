/** The wire of a client on a path that OpenAI's and Anthropic's APIs share. */
import type { Incoming } from '../call/call.ts'
import type { ClientWire } from '../wire/dialect.ts'
import { anthropicWire } from './anthropic-messages/wire.ts'
import { openAiWire } from './openai/wire.ts'

/** Clients of Anthropic's API send its version with every request. */
export function wireOfClient(incoming: Pick<Incoming, 'header'>): ClientWire {
  return incoming.header('anthropic-version') === undefined ? openAiWire : anthropicWire
}
