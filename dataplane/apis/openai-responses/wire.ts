/** How responses refuse, and how their streams end. */
import type { ClientWire } from '../../wire/dialect.ts'
import { openAiWire } from '../openai/wire.ts'

/** Clients lose the code of a failure behind which the connection breaks. */
export const responsesWire: ClientWire = { ...openAiWire, endsCleanly: true }
