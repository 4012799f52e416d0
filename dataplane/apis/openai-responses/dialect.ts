/** OpenAI's responses, between clients and the inner form. */
import type { Dialect } from '../../wire/dialect.ts'
import { openPricedMember } from '../streamed-cost.ts'
import { writeAnswer } from './answer.ts'
import { passing } from './passing.ts'
import { compactReading, OPENAI_RESPONSES, responsesReading } from './request/reading.ts'
import { sessionOf } from './session.ts'
import { ResponseWriter } from './writer.ts'

export const openAiResponsesDialect: Dialect<'chat'> = {
  wire: OPENAI_RESPONSES,
  operation: 'chat',
  sessionHeader: 'session-id',
  reading: responsesReading,
  voiceOf: sessionOf,
  passing,
  writeAnswer,
  openWriter: (request, kept) => new ResponseWriter(request, kept),
  openCosts: openPricedMember(['response.completed', 'response.incomplete'], 'response'),
}

export const compactDialect: Dialect<'chat'> = {
  ...openAiResponsesDialect,
  reading: compactReading,
}

export const inputTokensDialect: Dialect<'chat'> = { ...openAiResponsesDialect, isFree: true }
