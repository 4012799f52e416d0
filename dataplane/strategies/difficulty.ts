/**
 * How hard a prompt looks, from 0 (small talk) to 1: a fixed function of its text.
 * The same prompt always gets the same upstream, and an operator can find out why.
 *
 * It reads the last 16 messages, of their text the last 8,192 characters, and finds six features,
 * each from 0 to 1:
 * - `length`: characters of all messages read, over 6,000;
 * - `turns`: messages of the user after the first, over 6;
 * - `code`: words and signs of programs in the user's text, over 4; a fenced block counts 3;
 * - `mathematics`: words, signs and sums in the user's text, over 3;
 * - `reasoning`: words that ask for thought (English) in the user's text, over 2;
 * - `structure`: what the answer must look like: `response_format`, tools, formats named or three
 *   listed points.
 *
 * Each feature closes a part of what is left to 1: score = 1 − Π (1 − weight × feature).
 * So one strong sign makes a prompt hard at the default threshold of 0.5. So do two half signs, or half a sign with
 * more than two lines of text. No feature lowers the score.
 */
import type { ChatBody, ChatMessage, ModelRequest } from '../wire/inner-form.ts'
import { CODE, MATHEMATICS, REASONING, type Signs, STRUCTURE } from './difficulty-signs.ts'

export interface Features {
  readonly length: number
  readonly turns: number
  readonly code: number
  readonly mathematics: number
  readonly reasoning: number
  readonly structure: number
}

const WEIGHTS: Features = {
  length: 0.6,
  turns: 0.3,
  code: 0.995,
  mathematics: 0.995,
  reasoning: 0.995,
  structure: 0.5,
}

const MESSAGES_MAX = 16
const CHARACTERS_MAX = 8192
const PARTS_MAX = 32

/** Only a conversation can be hard. */
export function builtinScore(request: ModelRequest): number {
  return request.operation === 'chat' ? difficultyOf(request.body) : 0
}

/** The text of a conversation that is scored; undefined if there is no such text. */
export function questionOf(request: ModelRequest): string | undefined {
  if (request.operation !== 'chat') return undefined
  const asked = read(request.body.messages).asked.trim()
  return asked === '' ? undefined : asked
}

export function difficultyOf(body: ChatBody): number {
  const features = featuresOf(body)
  let left = 1
  for (const name of Object.keys(WEIGHTS)) {
    // The keys of Features are its features.
    const feature = name as keyof Features
    left *= 1 - WEIGHTS[feature] * features[feature]
  }
  return 1 - left
}

/** The parts of the score, to explain it. */
export function featuresOf(body: ChatBody): Features {
  const { length, turns, asked } = read(body.messages)
  const words = asked.toLowerCase().match(/\p{L}+/gu) ?? []
  return {
    length: share(length, 6000),
    turns: share(turns - 1, 6),
    code: share(count(CODE, asked, words), 4),
    mathematics: share(count(MATHEMATICS, asked, words), 3),
    reasoning: share(count(REASONING, asked, words), 2),
    structure: Math.max(structureOf(body), share(count(STRUCTURE, asked, words), 2)),
  }
}

interface PromptFacts {
  readonly length: number
  readonly turns: number
  /** The text of the user's messages, newest first. */
  readonly asked: string
}

/** Newest first, because the end of a conversation has the present demand. */
function read(messages: readonly ChatMessage[]): PromptFacts {
  let length = 0
  let turns = 0
  let asked = ''
  for (const message of messages.slice(-MESSAGES_MAX).reverse()) {
    const text = textOf(message.content, CHARACTERS_MAX - length)
    length += text.length
    if (message.role !== 'user') continue
    turns++
    asked += `${text}\n`
  }
  return { length, turns, asked }
}

/** The last characters of a content: a string, or parts of which some have text. */
function textOf(content: unknown, charactersMax: number): string {
  if (charactersMax <= 0) return ''
  if (typeof content === 'string') return content.slice(-charactersMax)
  if (!Array.isArray(content)) return ''
  return content.slice(-PARTS_MAX).map(partText).join('\n').slice(-charactersMax)
}

function partText(part: unknown): string {
  if (typeof part !== 'object' || part === null || !('text' in part)) return ''
  return typeof part.text === 'string' ? part.text.slice(-CHARACTERS_MAX) : ''
}

/** A schema binds every member of the answer, plain JSON only its form; tools have their own schemas. */
function structureOf(body: ChatBody): number {
  const format = body.response_format
  const type = typeof format === 'object' && format !== null && 'type' in format ? format.type : ''
  if (type === 'json_schema') return 1
  const tools = Array.isArray(body.tools) && body.tools.length > 0
  return type === 'json_object' || tools ? 0.5 : 0
}

function count(signs: Signs, text: string, words: readonly string[]): number {
  // A repeated word is not a second sign.
  let found = signs.words.intersection(new Set(words)).size
  for (const { pattern, worth, most } of signs.patterns) {
    found += worth * Math.min(most, text.match(pattern)?.length ?? 0)
  }
  return found
}

function share(amount: number, full: number): number {
  return Math.min(1, Math.max(0, amount / full))
}
