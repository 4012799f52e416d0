/** Refusals of the Responses API, and the end of its streams. */
import type { ClientWire } from '../../wire/dialect.ts'
import { openAiWire } from '../openai/wire.ts'

/** If the connection breaks after a failure, clients lose its code, so the stream ends cleanly. */
export const responsesWire: ClientWire = { ...openAiWire, endsCleanly: true }
