/** Estimates the tokens of a prompt at charge time if its upstream reported none. */

import { isRecord, listOf, recordOf, textOf } from '../json/values.ts'
import { isForgotten } from '../wire/dropped-tree.ts'
import type { ChatBody, ChatMessage, ModelRequest, TextInput } from '../wire/inner-form.ts'
import { weightOf } from './weight.ts'

/** Tokens of a chat template around each message. */
const PER_MESSAGE = 4
/** A picture of the usual size; reported usage corrects the value. */
const PICTURE_TOKENS = 1_000
const SOUND_BYTES_PER_TOKEN = 1_000
const MEDIA_TOKENS_MAX = 16_384
/** A longer text is read in parts, so that it does not delay other requests. */
const READ_WHOLE = 262_144
const SLICES = 64
const SLICE_BYTES = 4_096
/** Pictures and sounds in bytes without a parsed tree: their prefix, and their least length. */
const MEDIA_STARTS = [';base64,', '"data":"', '"data": "', '"result":"', '"result": "']
const MEDIA_BYTES_MIN = 1_024

export function promptWeight(request: ModelRequest): number {
  // The tree of a large body has been dropped by then.
  if (isForgotten(request))
    return request.operation === 'chat' ? bytesWeight(request.bytes) : request.inputTokens.sum
  if (request.operation === 'chat') return conversationWeight(request.body)
  if (request.operation === 'embeddings') return inputWeight(request.body.input)
  if (request.operation === 'completions') return inputWeight(request.body.prompt ?? '')
  return request.inputTokens.sum
}

function conversationWeight({ messages, tools }: ChatBody): number {
  let weight = tools === undefined ? 0 : textWeight(JSON.stringify(tools))
  for (const message of messages) weight += PER_MESSAGE + messageWeight(message)
  return weight
}

function messageWeight(message: ChatMessage) {
  const { content, images, tool_calls: calls, reasoning_content: thought } = message
  let weight = calls == null ? 0 : textWeight(JSON.stringify(calls))
  weight += listOf(images).length * PICTURE_TOKENS
  if (typeof thought === 'string') weight += textWeight(thought)
  if (typeof content === 'string') return weight + textWeight(content)
  if (!Array.isArray(content)) return weight
  for (const part of content) weight += partWeight(recordOf(part))
  return weight
}

function partWeight({ text, image_url: image, input_audio: audio }: Record<string, unknown>) {
  if (typeof text === 'string') return textWeight(text)
  if (image !== undefined) return PICTURE_TOKENS
  return isRecord(audio) ? soundTokens(textOf(audio.data)?.length ?? 0) : 0
}

/** A number is a token. */
function inputWeight(input: TextInput): number {
  if (typeof input === 'string') return textWeight(input)
  let weight = 0
  for (const one of input) {
    if (typeof one === 'string') weight += textWeight(one)
    else weight += typeof one === 'number' ? 1 : one.length
  }
  return weight
}

function textWeight(text: string): number {
  const bytes = Buffer.from(text)
  return longWeight(bytes, 0, bytes.length)
}

function soundTokens(bytes: number): number {
  return Math.min(MEDIA_TOKENS_MAX, Math.ceil(bytes / SOUND_BYTES_PER_TOKEN))
}

/** A body as received, without its pictures and sounds. */
function bytesWeight(bytes: Buffer): number {
  let weight = 0
  let from = 0
  for (;;) {
    const start = nextMedium(bytes, from)
    if (start === -1) return weight + longWeight(bytes, from, bytes.length)
    const quote = bytes.indexOf('"', start)
    const end = quote === -1 ? bytes.length : quote
    const isMedium = end - start >= MEDIA_BYTES_MIN
    weight += longWeight(bytes, from, isMedium ? start : end)
    if (isMedium) weight += Math.min(PICTURE_TOKENS, soundTokens(end - start))
    from = end
  }
}

/** The next position where a text may begin; -1 if there is no next text. */
function nextMedium(bytes: Buffer, from: number): number {
  let first = -1
  for (const mark of MEDIA_STARTS) {
    const at = bytes.indexOf(mark, from)
    if (at !== -1 && (first === -1 || at + mark.length < first)) first = at + mark.length
  }
  return first
}

function longWeight(bytes: Buffer, start: number, end: number): number {
  const length = end - start
  if (length <= READ_WHOLE) return weightOf(bytes, start, end)
  const step = (length - SLICE_BYTES) / (SLICES - 1)
  let weight = 0
  for (let slice = 0; slice < SLICES; slice++) {
    const from = start + Math.floor(slice * step)
    weight += weightOf(bytes, from, from + SLICE_BYTES)
  }
  return (weight * length) / (SLICES * SLICE_BYTES)
}
