/** Reads requests of Anthropic, Bedrock and Gemini. */
import { canonicalOf, exactly, type Json } from '../json-text.ts'
import { Seen } from './seen.ts'

export function readAnthropic(text: string): Seen {
  const body = exactly(text)
  const seen = new Seen()
  const blocksOf = (content: Json): Json[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  seen.system = blocksOf(body.system)
    .map((one) => one.text)
    .join('')
  seen.marks = text.split('"cache_control":{').length - 1
  for (const tool of body.tools ?? []) seen.tools.push(tool.name)
  for (const { role, content } of body.messages) {
    for (const block of blocksOf(content)) {
      if (block.type === 'text') seen[role === 'assistant' ? 'model' : 'user'] += block.text
      if (block.type === 'image') seen.pictures++
      if (block.type === 'thinking') {
        seen.thinking += block.thinking
        seen.signatures.push(block.signature)
      }
      if (block.type === 'tool_use') seen.call(block.id, block.name, canonicalOf(block.input))
      if (block.type !== 'tool_result') continue
      const parts = blocksOf(block.content)
      seen.pictures += parts.filter(({ type }) => type === 'image').length
      const said = parts.map((part) => part.text ?? '').join('')
      seen.result(({ id }) => id === block.tool_use_id, said)
    }
  }
  return seen
}

export function readBedrock(text: string): Seen {
  const body = exactly(text)
  const seen = new Seen()
  seen.system = (body.system ?? []).map((one: Json) => one.text ?? '').join('')
  seen.marks = text.split('"cachePoint":').length - 1
  for (const { toolSpec } of body.toolConfig?.tools ?? [])
    if (toolSpec) seen.tools.push(toolSpec.name)
  for (const { role, content } of body.messages) {
    for (const { text: said, image, toolUse, toolResult, reasoningContent } of content) {
      seen[role === 'assistant' ? 'model' : 'user'] += said ?? ''
      if (image) seen.pictures++
      const thought = reasoningContent?.reasoningText
      if (thought) {
        seen.thinking += thought.text
        seen.signatures.push(thought.signature)
      }
      if (toolUse) seen.call(toolUse.toolUseId, toolUse.name, canonicalOf(toolUse.input))
      if (!toolResult) continue
      const parts: Json[] = toolResult.content
      seen.pictures += parts.filter((part) => part.image).length
      const texts = parts.map((part) => part.text ?? (part.json ? canonicalOf(part.json) : ''))
      seen.result(({ id }) => id === toolResult.toolUseId, texts.join(''))
    }
  }
  return seen
}

export function readGemini(text: string): Seen {
  const body = exactly(text)
  const seen = new Seen()
  seen.system = (body.systemInstruction?.parts ?? []).map((one: Json) => one.text).join('')
  for (const { functionDeclarations: list } of body.tools ?? [])
    for (const { name } of list) seen.tools.push(name)
  for (const { role, parts } of body.contents) {
    for (const part of parts) {
      const { text: said = '', inlineData, functionCall, functionResponse } = part
      if (part.thought) seen.thinking += said
      else seen[role === 'model' ? 'model' : 'user'] += said
      if (inlineData) seen.pictures++
      if (part.thoughtSignature) seen.signatures.push(part.thoughtSignature)
      if (functionCall)
        seen.call(functionCall.id ?? '', functionCall.name, canonicalOf(functionCall.args ?? {}))
      if (functionResponse) {
        const { id = '', name, response } = functionResponse
        seen.result((call) => call.name === name && call.id === id, responseText(response))
      }
    }
  }
  return seen
}

/** A text may be the only member of an object. */
function responseText(response: Json): string {
  const names = Object.keys(response)
  const [only] = names
  const value = only === undefined ? '' : response[only]
  const isText =
    names.length === 1 &&
    typeof value === 'string' &&
    /^(result|output|content|error)$/.test(only ?? '')
  return isText ? value : canonicalOf(response)
}
