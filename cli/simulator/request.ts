/** The members of a request that the simulator reads. It accepts and ignores all others. */
import { z } from 'zod'

const Part = z.looseObject({ text: z.string().optional() })

const Message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(Part)]).nullish(),
})

/** A tool with JSON arguments is a function; a custom tool gets text. */
const Tool = z.union([
  z
    .looseObject({ type: z.literal('custom'), custom: z.looseObject({ name: z.string() }) })
    .transform(({ custom: { name } }) => ({ type: 'custom' as const, name })),
  z
    .looseObject({
      function: z.looseObject({ name: z.string(), parameters: z.unknown().optional() }),
    })
    .transform(({ function: { name, parameters } }) => ({
      type: 'function' as const,
      name,
      parameters,
    })),
])

const AllowedTools = z.looseObject({
  allowed_tools: z.looseObject({ tools: z.array(Tool).min(1) }),
})

const ToolChoice = z.union([z.enum(['none', 'auto', 'required']), Tool, AllowedTools])

const ResponseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()).nullish() }).optional(),
})

const Limit = z.int().min(1).nullish()

export const SimulatedRequest = z.looseObject({
  model: z.string(),
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: Limit,
  max_completion_tokens: Limit,
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  n: z.int().min(1).max(128).nullish(),
  tools: z.array(Tool).nullish(),
  tool_choice: ToolChoice.nullish(),
  response_format: ResponseFormat.nullish(),
})

export const TokenizeRequest = z
  .looseObject({ prompt: z.string().optional(), messages: z.array(Message).optional() })
  .refine(({ prompt, messages }) => (prompt === undefined) !== (messages === undefined), {
    error: 'give either prompt or messages',
  })

export type SimulatedRequest = z.output<typeof SimulatedRequest>
export type Message = z.output<typeof Message>
export type Tool = z.output<typeof Tool>
export type ToolChoice = z.output<typeof ToolChoice>

export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join(' ')
}

/** A token of the simulator is a word, so that people can count along. */
export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

export function promptWords(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => wordsOf(textOf(message)))
}
