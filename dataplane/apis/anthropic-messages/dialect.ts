/** Anthropic's messages, between clients and the inner form. */
import type { Dialect } from '../../wire/dialect.ts'
import { openPricedEvents } from '../streamed-cost.ts'
import { writeAnswer } from './answer.ts'
import { ANTHROPIC_MESSAGES, countReading, messagesReading } from './reading.ts'
import { MessageWriter } from './writer.ts'

export const anthropicMessagesDialect: Dialect<'chat'> = {
  wire: ANTHROPIC_MESSAGES,
  operation: 'chat',
  reading: messagesReading,
  forwards: ['anthropic-version', 'anthropic-beta'],
  hint: 'anthropic-beta',
  sessionHeader: 'x-claude-code-session-id',
  writeAnswer,
  openWriter: (request, kept) => new MessageWriter(request, kept),
  openCosts: openPricedEvents('message_delta'),
}

export const anthropicCountDialect: Dialect<'chat'> = {
  ...anthropicMessagesDialect,
  reading: countReading,
  isFree: true,
}
