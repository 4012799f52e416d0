/** OpenAI's forms of an answer: the whole answer and the chunks of a stream. */
import type { SimulatedAnswer, SimulatedCall, SimulatedChoice, SimulatedUsage } from './answer.ts'

export interface Identity {
  readonly id: string
  readonly created: number
  readonly model: string
}

export function wholeReply(answer: SimulatedAnswer, identity: Identity): unknown {
  const choices = answer.choices.map((choice, index) => ({
    index,
    message: messageOf(choice),
    logprobs: null,
    finish_reason: choice.finishReason,
  }))
  return { ...identity, object: 'chat.completion', choices, usage: answer.usage }
}

function messageOf({ call, pieces }: SimulatedChoice): unknown {
  const text = pieces.join('')
  if (call === undefined) return { role: 'assistant', content: text, refusal: null }
  const tool_calls = [calling(call, text)]
  return { role: 'assistant', content: null, refusal: null, tool_calls }
}

function calling({ id, type, name }: SimulatedCall, text: string): object {
  return type === 'custom'
    ? { id, type, custom: { name, input: text } }
    : { id, type, function: { name, arguments: text } }
}

export class Chunks {
  readonly #frame: Readonly<Record<string, unknown>>

  /** If the client requests usage, OpenAI sends `usage: null` in every chunk but the last. */
  constructor(identity: Identity, includeUsage: boolean) {
    const usage = includeUsage ? { usage: null } : {}
    this.#frame = { ...identity, object: 'chat.completion.chunk', ...usage }
  }

  opening({ call }: SimulatedChoice, index: number): string {
    if (call === undefined) return this.#chunk(index, { role: 'assistant', content: '' }, null)
    const tool_calls = [{ index: 0, ...calling(call, '') }]
    return this.#chunk(index, { role: 'assistant', content: null, tool_calls }, null)
  }

  piece({ call }: SimulatedChoice, index: number, text: string): string {
    if (call === undefined) return this.#chunk(index, { content: text }, null)
    const more =
      call.type === 'custom' ? { custom: { input: text } } : { function: { arguments: text } }
    const tool_calls = [{ index: 0, ...more }]
    return this.#chunk(index, { tool_calls }, null)
  }

  closing({ finishReason }: SimulatedChoice, index: number): string {
    return this.#chunk(index, {}, finishReason)
  }

  usage(usage: SimulatedUsage): string {
    return event({ ...this.#frame, choices: [], usage })
  }

  #chunk(index: number, delta: unknown, finish_reason: string | null): string {
    return event({
      ...this.#frame,
      choices: [{ index, delta, logprobs: null, finish_reason }],
    })
  }
}

export const STREAM_END = 'data: [DONE]\n\n'

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
