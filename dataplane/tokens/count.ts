/** How many tokens a prompt has, about: a linear count over its characters, for windows and reservations. */
import type { ChatMessage, ChatRequest } from '../call.ts'

/** Tokens that a chat template puts around each message. */
const PER_MESSAGE = 4
const CHARACTERS_PER_TOKEN = 4
/** Above U+2E80 (CJK and beyond) a character is about a token. */
const DENSE_FROM = 0x2e80

export function estimatePromptTokens({ body }: ChatRequest): number {
  let tokens = 0
  for (const message of body.messages) tokens += PER_MESSAGE + messageTokens(message)
  if (body.tools !== undefined) tokens += textTokens(JSON.stringify(body.tools))
  return Math.ceil(tokens)
}

function messageTokens({ content, tool_calls: calls }: ChatMessage): number {
  let tokens = calls === undefined ? 0 : textTokens(JSON.stringify(calls))
  if (typeof content === 'string') return tokens + textTokens(content)
  if (!Array.isArray(content)) return tokens
  for (const part of content as readonly { text?: unknown }[]) {
    if (typeof part?.text === 'string') tokens += textTokens(part.text)
  }
  return tokens
}

function textTokens(text: string): number {
  let dense = 0
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) >= DENSE_FROM) dense++
  }
  return dense + (text.length - dense) / CHARACTERS_PER_TOKEN
}
