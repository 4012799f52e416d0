/** Transcriptions in the form of OpenAI's SDKs: a multipart form with a recording. */
import type { Dialect } from '../../wire/dialect.ts'
import { TRANSCRIPTION, transcriptionReading } from './reading.ts'

/** OpenAI's limit for a recording. */
export const RECORDING_BYTES_MAX = 26_214_400
/** Room for the other parts and the boundaries. */
const REST_BYTES_MAX = 131_072

export const transcriptionDialect: Dialect<'transcription'> = {
  wire: TRANSCRIPTION,
  operation: 'transcription',
  form: { bytesMax: RECORDING_BYTES_MAX + REST_BYTES_MAX },
  reading: transcriptionReading,
  // Every upstream has the client's wire, so answers pass.
  writeAnswer: ({ text }) => ({ text }),
}
