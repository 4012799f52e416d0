/**
 * The texts of a conversation that a model reads, and the tokens around them, as the makers of the encodings
 * published.
 */

import { isRecord, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatMessage } from '../../wire/inner-form.ts'
import { imageTokens } from './images.ts'

/** Around each message, around its name, and before the answer. */
const PER_MESSAGE = 3
const PER_NAME = 1
const BEFORE_ANSWER = 3
/** Around each function, each of its parameters and each value of an enumeration, and after the last function. */
const PER_FUNCTION = 7
const PER_PARAMETERS = 3
const PER_PARAMETER = 3
const PER_ENUM = -3
const PER_ENUM_VALUE = 3
const BEHIND_FUNCTIONS = 12

/** Collects the parts of a prompt. */
export interface PromptTexts {
  readonly texts: string[]
  /** Tokens that belong to no text. */
  extra: number
}

export function promptTexts({ messages, tools }: ChatBody): PromptTexts {
  const found: PromptTexts = { texts: [], extra: BEFORE_ANSWER }
  for (const message of messages) addMessage(message, found)
  const functions = listOf(tools).map((tool) => recordOf(recordOf(tool).function))
  for (const one of functions) addFunction(one, found)
  if (functions.length > 0) found.extra += BEHIND_FUNCTIONS
  return found
}

function addMessage(message: ChatMessage, found: PromptTexts): void {
  const { role, content, name, tool_calls: calls } = message
  found.extra += PER_MESSAGE
  found.texts.push(role)
  if (typeof name === 'string') {
    found.extra += PER_NAME
    found.texts.push(name)
  }
  if (typeof content === 'string') found.texts.push(content)
  for (const part of [...listOf(content), ...listOf(message.images)]) addPart(recordOf(part), found)
  for (const call of listOf(calls)) {
    const { name: called, arguments: given } = recordOf(recordOf(call).function)
    found.texts.push(textOf(called) ?? '', textOf(given) ?? '')
  }
}

function addPart(
  { text, refusal, image_url: image }: Readonly<Record<string, unknown>>,
  found: PromptTexts,
): void {
  if (typeof text === 'string') found.texts.push(text)
  if (typeof refusal === 'string') found.texts.push(refusal)
  if (image !== undefined) {
    const { url, detail } = isRecord(image) ? image : { url: image, detail: undefined }
    found.extra += imageTokens(textOf(url) ?? '', detail === 'low')
  }
}

function addFunction(one: Readonly<Record<string, unknown>>, found: PromptTexts): void {
  found.extra += PER_FUNCTION
  found.texts.push(`${textOf(one.name) ?? ''}:${sentence(one.description)}`)
  const parameters = Object.entries(recordOf(recordOf(one.parameters).properties))
  if (parameters.length > 0) found.extra += PER_PARAMETERS
  for (const [name, schema] of parameters) {
    const { type, description, enum: values, ...more } = recordOf(schema)
    found.extra += PER_PARAMETER
    found.texts.push(`${name}:${textOf(type) ?? ''}:${sentence(description)}`)
    if (Array.isArray(values)) {
      found.extra += PER_ENUM + PER_ENUM_VALUE * values.length
      found.texts.push(...values.map(String))
    }
    // There is no published rule for nested schemas; their JSON is an upper bound.
    if (Object.keys(more).length > 0) found.texts.push(JSON.stringify(more))
  }
}

function sentence(description: unknown): string {
  return (textOf(description) ?? '').replace(/\.$/, '')
}
