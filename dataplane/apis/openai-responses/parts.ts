/** The parts of an item as parts of the inner form. */
import { invalid } from '../../body/request.ts'
import { isRecord, listOf, recordOf, textOf } from '../../json/values.ts'

type Json = Readonly<Record<string, unknown>>

/** Throws ERR_GW_INVALID_REQUEST with the part that is at fault. */
export function partsOf(content: unknown, param: string): Json[] {
  if (!Array.isArray(content))
    throw invalid(`"${param}" must be a text or an array of parts.`, param)
  return content.map((part, index) => partOf(part, `${param}[${index}]`))
}

/** The words of an assistant, which may hold nothing else. */
export function textParts(content: unknown, param: string): string {
  const parts = listOf(content).map((one, index) => {
    const { type, text, refusal } = recordOf(one)
    if (type === 'output_text' || type === 'input_text' || type === 'text')
      return textOf(text) ?? ''
    if (type === 'refusal') return textOf(refusal) ?? ''
    throw unknownPart(type, `${param}[${index}]`)
  })
  return parts.join('')
}

function partOf(raw: unknown, param: string): Json {
  if (!isRecord(raw)) throw invalid(`"${param}" must be an object.`, param)
  const part = raw
  if (part.file_id != null) {
    const message = 'This gateway stores no files; send the data itself, or an image_url.'
    throw invalid(message, `${param}.file_id`)
  }
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'text', text: part.refusal }
    case 'input_image': {
      const detail = part.detail === 'original' ? 'high' : part.detail
      return {
        type: 'image_url',
        image_url: { url: part.image_url, ...(textOf(detail) && { detail }) },
      }
    }
    case 'input_file':
      if (textOf(part.file_data) === undefined) {
        const message = 'Send the file itself in file_data; this gateway fetches none.'
        throw invalid(message, `${param}.file_data`)
      }
      return { type: 'file', file: { filename: part.filename, file_data: part.file_data } }
  }
  throw unknownPart(part.type, param)
}

function unknownPart(type: unknown, param: string): Error {
  return invalid(`Parts of type "${String(type)}" have no counterpart here.`, `${param}.type`)
}
