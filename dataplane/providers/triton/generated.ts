/** Reads the answers of `generate`, and the streams of `generate_stream`, which end with their body. */
import { countOf, isRecord, type Json, parsed, parsedBytes, textOf } from '../../json/values.ts'
import type { ChatAnswer, CompletionsAnswer, FinishReason, Usage } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded, Detour, Framing, StreamReader } from '../../wire/provider.ts'
import { BROKEN, isBroken } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { SSE } from '../openai-like/sse.ts'

/** The end of a body, as an event; a comment, so that a client of the OpenAI frontend may get it. */
const END_OF_BODY = Buffer.from(': the body has ended\n\n')
const ENDED = { event: 'end-of-body', data: '' }

/** Events of both APIs. Only a stream of `generate_stream` is complete with its body. */
export const FRAMING: Framing = {
  ...SSE,
  endOfBody: END_OF_BODY,
  parse: (frame) => (frame.equals(END_OF_BODY) ? ENDED : SSE.parse(frame)),
}

export const GENERATED: Detour = {
  isWhole: (body) => isText(parsedBytes(body)),
  isEvent: ({ data }) => isText(parsed(data)),
}

function isText(answer: unknown): answer is Json {
  return isRecord(answer) && typeof answer.text_output === 'string' && !isError(answer)
}

/** The part that answers of conversations and of texts share. */
interface Generated {
  readonly text: string
  readonly finish: FinishReason
  readonly usage: Usage | undefined
}

export function readChat(
  body: Buffer,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<ChatAnswer> {
  return decoded(body, recognisers, ({ text, finish }) => ({
    id: `chatcmpl-${origin.id}`,
    model: origin.model,
    choices: [{ text, calls: [], finish }],
  }))
}

export function readText(
  body: Buffer,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<CompletionsAnswer> {
  return decoded(body, recognisers, ({ text, finish }) => ({
    id: `cmpl-${origin.id}`,
    model: origin.model,
    choices: [{ text, finish }],
  }))
}

function decoded<Answer>(
  body: Buffer,
  recognisers: readonly Recogniser[],
  answerOf: (read: Generated) => Answer,
): Decoded<Answer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && isError(answer))
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  if (!isText(answer))
    return { kind: 'failure', failure: malformed('The upstream answered without a text.') }
  const usage = usageIn(answer)
  const read = { text: String(answer.text_output), finish: finishOf(answer), usage }
  return { kind: 'answer', answer: answerOf(read), usage }
}

type GeneratedEvent =
  | { readonly kind: 'start'; readonly id: string; readonly model: string }
  | { readonly kind: 'delta'; readonly choice: number; readonly delta: { readonly text: string } }
  | { readonly kind: 'end'; readonly choice: number; readonly finish: FinishReason }

/** `prefix`: that of ids in the client's API. */
export function openGenerated(
  prefix: 'chatcmpl' | 'cmpl',
  { id, model }: AnswerOrigin,
  recognisers: readonly Recogniser[],
): StreamReader<GeneratedEvent> {
  let last: Json | undefined
  return {
    read({ event, data }) {
      if (event === ENDED.event) {
        if (last === undefined) return { events: [], done: false }
        return { events: [{ kind: 'end', choice: 0, finish: finishOf(last) }], done: true }
      }
      const piece = parsed(data)
      if (isBroken(data, piece)) return { events: [], done: false, failure: BROKEN }
      if (!isRecord(piece)) return { events: [], done: false }
      if (isError(piece))
        return { events: [], done: false, failure: classifyError(recognisers, piece) }
      const start: GeneratedEvent = { kind: 'start', id: `${prefix}-${id}`, model }
      const events: GeneratedEvent[] = last === undefined ? [start] : []
      last = piece
      const text = textOf(piece.text_output)
      if (text !== undefined) events.push({ kind: 'delta', choice: 0, delta: { text } })
      return { events, done: false }
    },
  }
}

/** Few models report a reason. */
function finishOf({ finish_reason: reason }: Json): FinishReason {
  return reason === 'length' ? 'length' : 'stop'
}

/** Only some models count, and only whole answers; the gateway counts the others. */
function usageIn({ num_input_tokens: asked, num_output_tokens: said }: Json): Usage | undefined {
  const [prompt, completion] = [countOf(asked), countOf(said)]
  if (prompt === undefined || completion === undefined) return undefined
  return {
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}
