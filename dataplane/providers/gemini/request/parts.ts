/** The parts of a message: text, and media as bytes or by address. */
import { type Json, listOf, recordOf, rowOf, textOf } from '../../../json/values.ts'
import { unsupported } from '../../../wire/unsupported.ts'
import { facts } from '../facts.ts'

/** Media types of addresses by file ending. The API requires a type, but reads it from the bytes. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
}
const TYPE_DEFAULT = 'image/jpeg'
/** Addresses of this form name files of the account behind the credential, not the client's. */
const OWN_FILES = /(?:^|\.)generativelanguage\.googleapis\.com$/
const URL_LENGTH_MAX = 8_192

export function partsOf(content: unknown, index: number): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  return listOf(content).flatMap((part) => partOf(recordOf(part), `messages.${index}.content`))
}

function partOf(part: Json, param: string): Json[] {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      const text = textOf(part.text) ?? textOf(part.refusal)
      return text === undefined ? [] : [{ text }]
    }
    case 'image_url':
      return [imageOf(textOf(recordOf(part.image_url).url) ?? '', param)]
    case 'input_audio':
      return [audioOf(recordOf(part.input_audio), param)]
    case 'file':
      return [fileOf(recordOf(part.file), param)]
    default:
      throw unsupported(facts.name, param, 'send only parts with text, images, audio or files')
  }
}

function imageOf(url: string, param: string): Json {
  const part = inlined(url) ?? addressed(url)
  if (part !== undefined) return part
  throw unsupported(
    facts.name,
    param,
    'send images as public http or https URLs or base64 data URLs',
  )
}

function audioOf({ data, format }: Json, param: string): Json {
  const kind = textOf(format)
  if (textOf(data) === undefined || kind === undefined || !/^[a-z0-9]{1,10}$/.test(kind)) {
    throw unsupported(facts.name, param, 'send audio as base64 in data, with its format')
  }
  return { inlineData: { mimeType: `audio/${kind}`, data } }
}

function fileOf({ file_data: data }: Json, param: string): Json {
  const part = inlined(textOf(data) ?? '')
  if (part !== undefined) return part
  throw unsupported(facts.name, param, 'send files in file_data as base64 data URLs')
}

function inlined(url: string): Json | undefined {
  const comma = url.indexOf(',')
  const head = url.slice(0, Math.min(comma, 200))
  const type = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[a-z]+=[^;,]*)*;base64$/i.exec(head)?.[1]
  if (type === undefined) return undefined
  // The API accepts only this spelling.
  const mimeType = type.toLowerCase().replace('image/jpg', 'image/jpeg')
  return { inlineData: { mimeType, data: url.slice(comma + 1) } }
}

/** The API fetches the address, so the gateway connects to no address that a client chooses. */
function addressed(url: string): Json | undefined {
  if (url.length > URL_LENGTH_MAX) return undefined
  const address = URL.parse(url)
  if (address === null || !/^https?:$/.test(address.protocol)) return undefined
  if (OWN_FILES.test(address.hostname)) return undefined
  const ending = address.pathname.slice(address.pathname.lastIndexOf('.') + 1).toLowerCase()
  return { fileData: { mimeType: rowOf(TYPES, ending) ?? TYPE_DEFAULT, fileUri: url } }
}
