/** Reads the form of a request for a transcription; the inner form has its texts by name. */
import { isUtf8 } from 'node:buffer'
import type { Form, FormPart } from '../../base/form.ts'
import { checkModel, invalid } from '../../body/request.ts'
import type { TranscriptionRequest } from '../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../wire/reading.ts'
import { recordingTokens } from './recording.ts'

export const TRANSCRIPTION = 'openai-transcriptions'

/** Members that a form has once, because servers differ in which of two they use. */
const SINGLE = new Set([
  'file',
  'language',
  'model',
  'prompt',
  'response_format',
  'stream',
  'temperature',
])
const JSON_FORMATS = ['json', 'verbose_json', 'diarized_json']
const FORMATS = [...JSON_FORMATS, 'text', 'srt', 'vtt']
/** The length of all texts together. */
const TEXT_BYTES_MAX = 65_536

export const transcriptionReading: Reading<TranscriptionRequest> = {
  // A form is never parsed again.
  members: new Set(),
  request: requestOf,
}

function requestOf(_tree: unknown, { bytes, form, ...facts }: BodyFacts): TranscriptionRequest {
  if (form === undefined) throw invalid('The body must be a form.')
  checkNames(form)
  const file = form.parts.find(({ name }) => name === 'file')
  if (file === undefined || file.end === file.start)
    throw invalid('"file" must be a recording that is not empty.', 'file')
  const body = textsOf(bytes, form)
  const format = body.response_format ?? 'json'
  if (!FORMATS.includes(format))
    throw invalid(`"response_format" must be one of ${FORMATS.join(', ')}.`, 'response_format')
  const stream = (body.stream ?? 'false').toLowerCase()
  if (stream !== 'true' && stream !== 'false')
    throw invalid('"stream" must be true or false.', 'stream')
  const tokens = recordingTokens(bytes.subarray(file.start, file.end))
  return {
    ...facts,
    operation: 'transcription',
    wire: TRANSCRIPTION,
    bytes,
    body,
    form,
    isJson: JSON_FORMATS.includes(format),
    // Models process a recording in pieces, so no window has to hold it.
    inputTokens: { sum: tokens, longest: 0, longestAt: 0 },
    stream: stream === 'true',
    maxTokens: undefined,
    choices: 1,
    promptTokensMax: tokens,
  }
}

/** Throws ERR_GW_INVALID_REQUEST with the part that is at fault. */
function checkNames({ parts }: Form): void {
  const seen = new Set<string>()
  for (const { name, filename } of parts) {
    const meant = name.toLowerCase()
    if (SINGLE.has(meant) && (meant !== name || seen.has(meant)))
      throw invalid(`"${meant}" must be there once, in this spelling.`, meant)
    if (filename !== undefined && name !== 'file')
      throw invalid(`"${name}" must not be a file.`, name)
    seen.add(meant)
  }
}

/** If a name occurs several times, the last value applies; only lists keep all. */
function textsOf(bytes: Buffer, { parts }: Form): TranscriptionRequest['body'] {
  let left = TEXT_BYTES_MAX
  const read = ({ name, start, end }: FormPart) => {
    left -= end - start
    const value = bytes.subarray(start, end)
    if (left < 0) throw invalid(`The texts of the form have more than ${TEXT_BYTES_MAX} bytes.`)
    if (!isUtf8(value)) throw invalid(`"${name}" is not valid UTF-8.`, name)
    return [name, value.toString()] as const
  }
  const texts = Object.fromEntries(parts.filter(({ name }) => name !== 'file').map(read))
  const { model } = texts
  checkModel(model)
  return { ...texts, model }
}
