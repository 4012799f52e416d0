/** Reads Anthropic's stream. */
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, type Json, parsedExactly, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatDelta, ChatEvent } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Meaning, StreamReader } from '../../wire/provider.ts'
import { BAD_INDEX, Blocks } from '../answers/blocks.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { BROKEN, isBroken } from '../answers/faults.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { completionId, finishReason, knownCounts, readUsage, refusalOf } from './answer.ts'
import { type Asker, ThoughtReader } from './thoughts.ts'

/** A tool call in progress; its index among the calls differs from that of its block. */
interface ToolCall {
  readonly index: number
  /** The input at the start of the call, as JSON text. */
  readonly input: string
  hasInput: boolean
}

/** The state after the events so far. */
interface Progress {
  usage: Json
  readonly calls: Blocks<ToolCall>
  readonly ids: CallIds
  readonly thoughts: ThoughtReader
}

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }
const MISNUMBERED: Meaning<ChatEvent> = { ...NOTHING, failure: BAD_INDEX }

const READERS: Readonly<Record<string, (event: Json, progress: Progress) => Meaning<ChatEvent>>> = {
  message_start: startMessage,
  content_block_start: startBlock,
  content_block_delta: continueBlock,
  content_block_stop: endBlock,
  message_delta: endMessage,
  message_stop: endStream,
}

export function openMessageStream(
  { model }: AnswerOrigin,
  recognisers: readonly Recogniser[],
  asker: Asker & Asked,
  kept: KeptText,
): StreamReader<ChatEvent> {
  const thoughts = new ThoughtReader(model, asker, kept)
  const progress: Progress = {
    usage: {},
    calls: new Blocks(kept),
    ids: new CallIds(asker),
    thoughts,
  }
  return {
    read({ data }) {
      const event = parsedExactly(data, 'tool_use')
      if (isBroken(data, event)) return { ...NOTHING, failure: BROKEN }
      // Pings and unknown events have no meaning.
      if (!isRecord(event)) return NOTHING
      if (event.type === 'error') {
        return { ...NOTHING, failure: classifyError(recognisers, event) }
      }
      return rowOf(READERS, event.type)?.(event, progress) ?? NOTHING
    },
  }
}

function startMessage(event: Json, progress: Progress): Meaning<ChatEvent> {
  const { id, model, usage } = recordOf(event.message)
  progress.usage = knownCounts(usage)
  const start = { kind: 'start', id: completionId(id), model: textOf(model) ?? '' } as const
  // From here on the tokens of the prompt are known, and how many of them were cached.
  const counted = readUsage(progress.usage)
  return { ...NOTHING, events: [start], ...(counted && { usage: counted }) }
}

function startBlock(event: Json, progress: Progress): Meaning<ChatEvent> {
  const block = recordOf(event.content_block)
  if (block.type !== 'tool_use') return contentOf(block, event.index, progress)
  const index = progress.calls.size
  const input = JSON.stringify(recordOf(block.input))
  if (!progress.calls.begin(event.index, { index, input, hasInput: false }, input))
    return MISNUMBERED
  const id = progress.ids.of(textOf(block.id), String(index))
  const name = textOf(block.name) ?? ''
  if (index === 0) progress.thoughts.called(id)
  return delta({ call: { index, id, name, arguments: '' } })
}

function continueBlock(event: Json, progress: Progress): Meaning<ChatEvent> {
  const piece = recordOf(event.delta)
  const call = progress.calls.get(event.index)
  const part = textOf(piece.partial_json)
  if (call === undefined || part === undefined) return contentOf(piece, event.index, progress)
  call.hasInput = true
  return delta({ call: { index: call.index, arguments: part } })
}

/** A tool call without input may have no delta, but clients parse its arguments. */
function endBlock(event: Json, progress: Progress): Meaning<ChatEvent> {
  const call = progress.calls.get(event.index)
  if (call === undefined) {
    const ended = progress.thoughts.end(event.index)
    return { ...NOTHING, events: ended.map((thought) => ({ kind: 'thought', choice: 0, thought })) }
  }
  if (call.hasInput) return NOTHING
  call.hasInput = true
  return delta({ call: { index: call.index, arguments: call.input } })
}

function endMessage(event: Json, progress: Progress): Meaning<ChatEvent> {
  progress.usage = { ...progress.usage, ...knownCounts(event.usage) }
  const end = recordOf(event.delta)
  const usage = readUsage(progress.usage)
  const meaning = { ...NOTHING, ...(usage && { usage }) }
  if (textOf(end.stop_reason) === undefined) return meaning
  const refusal = refusalOf(end)
  const finish = finishReason(end.stop_reason, progress.calls.size > 0)
  const refused = refusal === undefined ? [] : delta({ refusal }).events
  return { ...meaning, events: [...refused, { kind: 'end', choice: 0, finish }] }
}

function endStream(_event: Json, progress: Progress): Meaning<ChatEvent> {
  const usage = readUsage(progress.usage)
  return { ...NOTHING, done: true, ...(usage && { usage }) }
}

function contentOf(block: Json, index: unknown, { thoughts }: Progress): Meaning<ChatEvent> {
  const text = textOf(block.text)
  if (text !== undefined) return delta({ text })
  if (!thoughts.add(index, block)) return MISNUMBERED
  const reasoning = textOf(block.thinking)
  return reasoning === undefined ? NOTHING : delta({ reasoning })
}

function delta(one: ChatDelta): Meaning<ChatEvent> {
  return { ...NOTHING, events: [{ kind: 'delta', choice: 0, delta: one }] }
}
