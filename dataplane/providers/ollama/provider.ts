/** Ollama, by its OpenAI-compatible paths. */
import type { ChatBody, ChatMessage } from '../../inner-form.ts'
import { listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { Recogniser } from '../failures/classify.ts'
import { OF_THE_REQUEST } from '../failures/of-the-request.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { hintsExcept } from '../unsupported.ts'
import { facts } from './facts.ts'

const OF_PICTURES_AND_TEMPLATES =
  /missing data required for image input|chat template prompt error|^template: /

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'overloaded', says: /server busy/ },
  { class: 'context', status: [400, 500], says: /exceeds.{0,60}context|context length/ },
  // It passes on what the runtime inside of it says.
  { class: 'client', status: [500], says: OF_THE_REQUEST },
  { class: 'client', status: [500], says: OF_PICTURES_AND_TEMPLATES },
]

/** Efforts it does not know, by the nearest that it does. */
const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'max' }

export const ollama = openAiLike(facts, {
  maxTokens: 'max_tokens',
  maxTokensOnly: true,
  developerRole: false,
  cannot: [...HOSTED_MEMBERS, 'n', 'logit_bias', 'parallel_tool_calls'],
  hints: [...hintsExcept('reasoning_effort', 'seed'), 'tool_choice'],
  rewrite: emulated,
  // Its ids are one of a thousand.
  repair: { newIds: true, finishReasons: { load: 'stop', unload: 'stop' } },
  recognisers: RECOGNISERS,
})

function emulated(body: ChatBody): Record<string, unknown> {
  const effort = rowOf(EFFORTS, body.reasoning_effort)
  return {
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(body.tool_choice ? { tools: chosenTools(body) } : {}),
    ...(body.messages.some(hasTexts) && { messages: body.messages.map(withText) }),
  }
}

/** It ignores `tool_choice`; offering fewer tools comes nearest. */
function chosenTools(body: ChatBody): unknown {
  const choice = body.tool_choice
  if (choice === 'none') return undefined
  const name = textOf(recordOf(recordOf(choice).function).name)
  if (name === undefined) return body.tools
  return listOf(body.tools).filter((tool) => recordOf(recordOf(tool).function).name === name)
}

/** It would make a message of every part, and a tool's answer would lose what it answers. */
function hasTexts({ content }: ChatMessage): boolean {
  return Array.isArray(content) && content.every((part) => recordOf(part).type === 'text')
}

function withText(message: ChatMessage): ChatMessage {
  if (!hasTexts(message)) return message
  const texts = listOf(message.content).map((part) => textOf(recordOf(part).text) ?? '')
  return { ...message, content: texts.join('\n') }
}
