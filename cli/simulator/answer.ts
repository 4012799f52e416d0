/** The simulator's answer to a request: the same request always gets the same answer. */
import { exampleValue } from './example-value.ts'
import { seededRandom } from './random.ts'
import {
  promptWords,
  type SimulatedRequest,
  type Tool,
  type ToolChoice,
  textOf,
  wordsOf,
} from './request.ts'

export interface SimulatedCall {
  readonly id: string
  readonly type: Tool['type']
  readonly name: string
}

export interface SimulatedChoice {
  /** Tokens in order; joined, they are the text or the arguments of the call. */
  readonly pieces: readonly string[]
  readonly call?: SimulatedCall
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
}

export interface SimulatedUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

export interface SimulatedAnswer {
  readonly choices: readonly SimulatedChoice[]
  readonly usage: SimulatedUsage
}

export interface AnswerSettings {
  /** Length of the text; undefined: the length of the echo. */
  readonly tokens: number | undefined
  readonly seed: number
  /** False: a tool is called only where the request requires it, so that an agent talks instead of working. */
  readonly toolCalls: boolean
}

/** A custom tool accepts any text; the grammar is ignored. */
const CUSTOM_INPUT = ['example', ' input']

const FILLING = 'and so on with more words that a model would have said here in its own way'.split(
  ' ',
)

export function answerTo(request: SimulatedRequest, settings: AnswerSettings): SimulatedAnswer {
  const tool = calledTool(request, settings)
  const choices = Array.from({ length: request.n ?? 1 }, (_, index) =>
    tool === undefined ? sayText(request, settings, index) : callTool(request, tool, index),
  )
  const prompt = promptWords(request.messages).length
  const completion = choices.reduce((total, { pieces }) => total + pieces.length, 0)
  const total = prompt + completion
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
  return { choices, usage }
}

export function tokenLimit(request: SimulatedRequest): number | undefined {
  return request.max_completion_tokens ?? request.max_tokens ?? undefined
}

function sayText(
  request: SimulatedRequest,
  settings: AnswerSettings,
  index: number,
): SimulatedChoice {
  const { response_format: format } = request
  if (format?.type === 'json_schema') {
    const value = exampleValue(format.json_schema?.schema ?? { type: 'object' })
    return limited(jsonPieces(value), 'stop', tokenLimit(request))
  }
  const words = lengthen(echo(request, index), settings, index)
  if (format?.type === 'json_object')
    return limited(jsonPieces({ answer: words.join(' ') }), 'stop', tokenLimit(request))
  const kept = wordsOf(cutAtStop(words.join(' '), request.stop))
  const pieces = kept.map((word, position) => (position === 0 ? word : ` ${word}`))
  return limited(pieces, 'stop', tokenLimit(request))
}

function echo({ messages }: SimulatedRequest, index: number): readonly string[] {
  const last = messages.at(-1)
  const heard = last?.role === 'tool' ? last : messages.findLast(({ role }) => role === 'user')
  const words = heard === undefined ? [] : wordsOf(textOf(heard))
  const who = heard?.role === 'tool' ? 'The tool' : 'You'
  // Several choices differ, like those of a model.
  const beginning = index === 0 ? [] : ['Again', `(${index + 1}):`]
  return [...beginning, ...wordsOf(`${who} said${words.length > 0 ? ':' : ' nothing.'}`), ...words]
}

function lengthen(
  words: readonly string[],
  { tokens, seed }: AnswerSettings,
  index: number,
): readonly string[] {
  if (tokens === undefined) return words
  const random = seededRandom(seed + index)
  const missing = Math.max(0, tokens - words.length)
  const filling = Array.from(
    { length: missing },
    () => FILLING[Math.floor(random() * FILLING.length)] ?? '',
  )
  return [...words, ...filling].slice(0, tokens)
}

function cutAtStop(text: string, stop: SimulatedRequest['stop']): string {
  const sequences = [stop ?? []].flat().filter((sequence) => sequence !== '')
  const ends = sequences.map((sequence) => text.indexOf(sequence)).filter((end) => end >= 0)
  return text.slice(0, Math.min(text.length, ...ends))
}

/**
 * After a tool result the answer is text; otherwise an agent would call tools for ever. Agents add reminders of the user
 * behind their results.
 */
function calledTool(
  { messages, tools, tool_choice }: SimulatedRequest,
  { toolCalls }: AnswerSettings,
): Tool | undefined {
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant')
  const hasResult = messages.slice(lastAnswer + 1).some(({ role }) => role === 'tool')
  if (tool_choice === 'none' || hasResult) return undefined
  if (!toolCalls && (tool_choice ?? 'auto') === 'auto') return undefined
  const wanted = typeof tool_choice === 'object' ? namesIn(tool_choice) : undefined
  return tools?.find(({ name }) => wanted?.includes(name) ?? true)
}

function namesIn(choice: ToolChoice | null): readonly string[] | undefined {
  if (choice === null || typeof choice === 'string') return undefined
  const named = 'allowed_tools' in choice ? choice.allowed_tools.tools : [choice]
  return named.map(({ name }) => name)
}

/** Split after commas and colons, so that a stream has several pieces. */
function jsonPieces(value: unknown): readonly string[] {
  return (
    JSON.stringify(value)
      .match(/[^,:]*[,:]?/g)
      ?.filter((piece) => piece !== '') ?? []
  )
}

function callTool(request: SimulatedRequest, tool: Tool, index: number): SimulatedChoice {
  const { type, name } = tool
  const pieces =
    type === 'custom'
      ? CUSTOM_INPUT
      : jsonPieces(exampleValue(tool.parameters ?? { type: 'object' }))
  const id = `call_${request.messages.length}_${index}`
  return {
    ...limited(pieces, 'tool_calls', tokenLimit(request)),
    call: { id, type, name },
  }
}

function limited(
  pieces: readonly string[],
  natural: SimulatedChoice['finishReason'],
  most = Number.POSITIVE_INFINITY,
): SimulatedChoice {
  if (pieces.length <= most) return { pieces, finishReason: natural }
  return { pieces: pieces.slice(0, most), finishReason: 'length' }
}
