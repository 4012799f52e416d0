/** OpenAI's responses, between clients and the inner form. */
import type { Dialect } from '../dialect.ts'
import { writeAnswer } from './answer.ts'
import { OPENAI_RESPONSES, responsesReading } from './reading.ts'
import { sessionOf } from './session.ts'
import { ResponseWriter } from './writer.ts'

export const openAiResponsesDialect: Dialect<'chat'> = {
  wire: OPENAI_RESPONSES,
  operation: 'chat',
  reading: responsesReading,
  voiceOf: sessionOf,
  writeAnswer,
  openWriter: (request) => new ResponseWriter(request),
}
