/** Converts the parts of an item to parts of the inner form. */
import { invalid } from '../../../body/request.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../json/values.ts'
import type { Lacks } from './lacks.ts'

const NO_FILES = 'This gateway stores no files; send the data itself, or an image_url.'

/** Throws ERR_GW_INVALID_REQUEST with the part that is at fault. */
export function partsOf(content: unknown, param: string, lacks: Lacks): Json[] {
  if (!Array.isArray(content))
    throw invalid(`"${param}" must be a text or an array of parts.`, param)
  return content.flatMap((part, index) => partOf(part, `${param}[${index}]`, lacks))
}

/** The text of an assistant, which may contain nothing else. */
export function textParts(content: unknown, param: string, lacks: Lacks): string {
  const parts = listOf(content).map((one, index) => {
    const { type, text, refusal, file_id: file } = recordOf(one)
    if (file != null) lacks.noteFile(NO_FILES, `${param}[${index}].file_id`)
    if (type === 'output_text' || type === 'input_text' || type === 'text')
      return textOf(text) ?? ''
    if (type === 'refusal') return textOf(refusal) ?? ''
    noteUnknown(type, `${param}[${index}]`, lacks)
    return ''
  })
  return parts.join('')
}

function partOf(raw: unknown, param: string, lacks: Lacks): Json[] {
  if (!isRecord(raw)) throw invalid(`"${param}" must be an object.`, param)
  const part = raw
  if (part.file_id != null) {
    lacks.noteFile(NO_FILES, `${param}.file_id`)
    return []
  }
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'refusal':
      return [{ type: 'text', text: part.refusal }]
    case 'input_image': {
      const detail = part.detail === 'original' ? 'high' : part.detail
      const image_url = { url: part.image_url, ...(textOf(detail) && { detail }) }
      return [{ type: 'image_url', image_url }]
    }
    case 'input_file':
      if (textOf(part.file_data) === undefined) {
        const message = 'Send the file itself in file_data; this gateway fetches none.'
        lacks.note(message, `${param}.file_data`)
        return []
      }
      return [{ type: 'file', file: { filename: part.filename, file_data: part.file_data } }]
  }
  noteUnknown(part.type, param, lacks)
  return []
}

function noteUnknown(type: unknown, param: string, lacks: Lacks): void {
  lacks.note(`Parts of type "${String(type)}" have no counterpart here.`, `${param}.type`)
}
