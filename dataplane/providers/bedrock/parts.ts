/** Converts the parts of a message to Bedrock's blocks. */
import { type Json, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { markOf } from '../marks.ts'
import { documentAsFile } from '../pictures.ts'
import { facts } from './facts.ts'

/** A block, followed by its cache mark. */
export type Piece = readonly Json[]

const IMAGES: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/jpg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}
const OFFICE = 'application/vnd.openxmlformats-officedocument'
const DOCUMENTS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  [`${OFFICE}.wordprocessingml.document`]: 'docx',
  'application/vnd.ms-excel': 'xls',
  [`${OFFICE}.spreadsheetml.sheet`]: 'xlsx',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
}
const NAME_LENGTH_MAX = 200

export function piecesOf(content: unknown, index: number): Piece[] {
  if (typeof content === 'string') return textPieces(content)
  return listOf(content).flatMap((part, place) => {
    const file = documentAsFile(recordOf(part))
    const block = blockOf(file, `messages.${index}.content`, `${index + 1}-${place + 1}`)
    if (block === undefined) return []
    const mark = markOf(recordOf(part))
    return [mark === undefined ? [block] : marked([block], mark)]
  })
}

export function marked([block = {}]: Piece, mark: Json): Piece {
  return [block, cachePoint(mark)]
}

export function cachePoint({ ttl }: Json): Json {
  return { cachePoint: { type: 'default', ...(ttl === '1h' && { ttl }) } }
}

/** The API refuses blank texts. */
function textPieces(text: string): Piece[] {
  return text.trim() === '' ? [] : [[{ text }]]
}

function blockOf(part: Json, param: string, place: string): Json | undefined {
  if (part.type === 'text' || part.type === 'refusal') {
    const text = textOf(part.text) ?? textOf(part.refusal) ?? ''
    return text.trim() === '' ? undefined : { text }
  }
  if (part.type === 'image_url') {
    const { media, bytes } = inlined(recordOf(part.image_url).url)
    const format = rowOf(IMAGES, media)
    if (format !== undefined) return { image: { format, source: { bytes } } }
    throw unsupported(
      facts.name,
      param,
      'send images as base64 data URLs of PNG, JPEG, GIF or WebP',
    )
  }
  if (part.type === 'file') {
    const { file_data: data, filename } = recordOf(part.file)
    const { media, bytes } = inlined(data)
    const format = rowOf(DOCUMENTS, media)
    if (format !== undefined) {
      return { document: { format, name: documentName(filename, place), source: { bytes } } }
    }
    throw unsupported(facts.name, param, 'send documents in file_data, as base64 data URLs')
  }
  throw unsupported(facts.name, param, 'send only parts with text, images or files')
}

/** The content of a data URL. */
function inlined(url: unknown): { readonly media?: string; readonly bytes?: string } {
  const text = textOf(url) ?? ''
  const comma = text.indexOf(',')
  const header = text.slice(0, Math.min(comma, 200))
  const media = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[a-z]+=[\w.-]+)*;base64$/i.exec(header)?.[1]
  return media === undefined ? {} : { media: media.toLowerCase(), bytes: text.slice(comma + 1) }
}

/** Documents of a request need distinct names, with few allowed characters. */
function documentName(filename: unknown, place: string): string {
  const bare = (textOf(filename) ?? 'document').slice(0, NAME_LENGTH_MAX).replace(/\.\w+$/, '')
  return `${bare.replace(/[^A-Za-z0-9()[\]-]+/g, ' ').trim()} ${place}`.trim()
}
