/**
 * The calls of an answer for the client: with the client's names of its tools, and a finish reason that fits the
 * calls.
 */
import type { Answer, AnswerEvent, ChatAnswer, FinishReason } from '../wire/inner-form.ts'

/** The client's tool names by the upstream's, if they differ. */
export type CallNames = ReadonlyMap<string, string>

/** The calls in the events of a stream. */
export class StreamedCalls {
  readonly #names: CallNames | undefined
  /** The choices with calls. */
  readonly #calling = new Set<number>()

  constructor(names: CallNames | undefined) {
    this.#names = names
  }

  settled(event: AnswerEvent): AnswerEvent {
    if (event.kind === 'end') {
      const finish = settledFinish(event.finish, this.#calling.has(event.choice))
      return finish === event.finish ? event : { ...event, finish }
    }
    if (event.kind !== 'delta' || !('call' in event.delta)) return event
    const { call } = event.delta
    if (call === undefined) return event
    this.#calling.add(event.choice)
    const name = call.name === undefined ? undefined : this.#names?.get(call.name)
    if (name === undefined) return event
    return { ...event, delta: { ...event.delta, call: { ...call, name } } }
  }
}

export function settledAnswer<A extends Answer>(answer: A, names: CallNames | undefined): A {
  return isChat(answer) ? { ...answer, choices: answer.choices.map(settledChoice(names)) } : answer
}

function settledChoice(names: CallNames | undefined) {
  return (choice: ChatAnswer['choices'][number]) => ({
    ...choice,
    calls: choice.calls.map((call) => ({ ...call, name: names?.get(call.name) ?? call.name })),
    finish: settledFinish(choice.finish, choice.calls.length > 0),
  })
}

/** Agents act on the finish reason: a truncated or filtered answer must not run its calls. */
function settledFinish(finish: FinishReason, hasCalls: boolean): FinishReason {
  if (finish !== 'stop' && finish !== 'tool_calls') return finish
  return hasCalls ? 'tool_calls' : 'stop'
}

function isChat(answer: Answer): answer is ChatAnswer {
  return 'choices' in answer && answer.choices.every((choice) => 'calls' in choice)
}
