/**
 * Moves pictures of the model in a history to the user's messages, for upstreams that accept no pictures of the
 * model, and finds the documents among the pictures.
 */
import { isRecord, type Json, listOf, recordOf, textOf } from '../json/values.ts'
import type { ChatMessage } from '../wire/inner-form.ts'

/** The pictures as `image_url` parts, in the form that clients send back. */
export function picturesOf({ role, images }: ChatMessage): Json[] {
  if (role !== 'assistant') return []
  return listOf(images)
    .filter(isRecord)
    .filter((image) => textOf(recordOf(image.image_url).url) !== undefined)
}

/** The pictures come before the user's next words, or at the end. Returns the same list if there are no pictures. */
export function shownByUser(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(({ role, images }) => role === 'assistant' && images != null)) return messages
  let waiting: Json[] = []
  const shown = messages.map((message) => {
    if (message.role === 'assistant') {
      const { images: _, ...rest } = message
      for (const { image_url } of picturesOf(message))
        waiting.push({ type: 'image_url', image_url })
      return rest
    }
    if (message.role !== 'user' || waiting.length === 0) return message
    const { content } = message
    const words = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
    const parts = [...waiting, ...words]
    waiting = []
    return { ...message, content: parts }
  })
  return waiting.length === 0 ? shown : [...shown, { role: 'user', content: waiting }]
}

const PDF = /^data:application\/pdf[;,]/i

/** A PDF in `image_url`, as clients of other gateways send it, becomes a `file` part; other parts are unchanged. */
export function documentAsFile(part: Json): Json {
  if (part.type !== 'image_url') return part
  const { image_url: image, ...rest } = part
  const url = textOf(recordOf(image).url)
  if (url === undefined || !PDF.test(url.slice(0, 100))) return part
  return { ...rest, type: 'file', file: { filename: 'document.pdf', file_data: url } }
}
