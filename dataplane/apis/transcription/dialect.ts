/** Transcriptions as OpenAI's SDKs ask for them: a form that holds a recording. */
import type { Dialect } from '../../wire/dialect.ts'
import { TRANSCRIPTION, transcriptionReading } from './reading.ts'

/** As OpenAI bounds a recording. */
export const RECORDING_BYTES_MAX = 26_214_400
/** The other parts, and what stands between them. */
const REST_BYTES_MAX = 131_072

export const transcriptionDialect: Dialect<'transcription'> = {
  wire: TRANSCRIPTION,
  operation: 'transcription',
  form: { bytesMax: RECORDING_BYTES_MAX + REST_BYTES_MAX },
  reading: transcriptionReading,
  // Every upstream speaks the client's wire, so that answers pass.
  writeAnswer: ({ text }) => ({ text }),
}
