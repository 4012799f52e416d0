/** Reads the events of a streamed answer. */
import type { KeptText } from '../../../base/kept-text.ts'
import { isRecord, type Json, parsed, recordOf, rowOf, textOf } from '../../../json/values.ts'
import type { ChatDelta, ChatEvent, ChatRequest, Sent } from '../../../wire/inner-form.ts'
import type { AnswerOrigin, Meaning, StreamReader } from '../../../wire/provider.ts'
import { BAD_INDEX, Blocks } from '../../answers/blocks.ts'
import { CallIds } from '../../answers/call-ids.ts'
import { BROKEN, isBroken } from '../../answers/faults.ts'
import { ThoughtReader } from '../../anthropic/thoughts.ts'
import { FAILED } from '../aws/frames.ts'
import { classifyException } from '../errors.ts'
import { failureOf, finishReason, readUsage, refusalOf } from './answer.ts'
import { mediaFailure, PictureReader } from './pictures.ts'

/** The state after the events so far. */
interface Progress {
  readonly origin: AnswerOrigin
  /** Not every model can be limited to one call at a time: later calls are omitted. */
  readonly callsMax: number
  /** Index among the calls, and whether it has any input yet. */
  readonly calls: Blocks<{ readonly index: number; hasInput: boolean }>
  readonly ids: CallIds
  readonly thoughts: ThoughtReader
  readonly pictures: PictureReader
  hasText: boolean
}

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }
const MISNUMBERED: Meaning<ChatEvent> = { ...NOTHING, failure: BAD_INDEX }

const READERS: Readonly<Record<string, (event: Json, progress: Progress) => Meaning<ChatEvent>>> = {
  messageStart: startMessage,
  contentBlockStart: startBlock,
  contentBlockDelta: continueBlock,
  contentBlockStop: endBlock,
  messageStop: endMessage,
  metadata: endStream,
}

export function openConverseStream(
  request: Sent<ChatRequest>,
  origin: AnswerOrigin,
  kept: KeptText,
): StreamReader<ChatEvent> {
  const { oneCall, tenant } = request
  const callsMax = oneCall ? 1 : Number.POSITIVE_INFINITY
  const thoughts = new ThoughtReader(origin.model, { tenant }, kept)
  const progress: Progress = {
    origin,
    callsMax,
    calls: new Blocks(kept),
    ids: new CallIds(request),
    thoughts,
    pictures: new PictureReader(kept),
    hasText: false,
  }
  return {
    read({ event, data }) {
      if (event === FAILED) return { ...NOTHING, failure: classifyException(data) }
      const content = parsed(data)
      if (isBroken(data, content)) return { ...NOTHING, failure: BROKEN }
      // Unknown events have no meaning.
      if (!isRecord(content)) return NOTHING
      return rowOf(READERS, event)?.(content, progress) ?? NOTHING
    },
  }
}

function startMessage(_event: Json, { origin }: Progress): Meaning<ChatEvent> {
  const { id, model } = origin
  return { ...NOTHING, events: [{ kind: 'start', id: `chatcmpl-${id}`, model }] }
}

/** Only tool calls and pictures have a start event. */
function startBlock(event: Json, progress: Progress): Meaning<ChatEvent> {
  const { calls, callsMax, ids, thoughts, pictures } = progress
  const { toolUse, image } = recordOf(event.start)
  if (isRecord(image)) return pictures.begin(event.contentBlockIndex, image) ? NOTHING : MISNUMBERED
  if (!isRecord(toolUse) || calls.size >= callsMax) return NOTHING
  const index = calls.size
  if (!calls.begin(event.contentBlockIndex, { index, hasInput: false })) return MISNUMBERED
  const id = ids.of(textOf(toolUse.toolUseId), String(index))
  const name = textOf(toolUse.name) ?? ''
  if (index === 0) thoughts.called(id)
  return delta({ call: { index, id, name, arguments: '' } })
}

function continueBlock(event: Json, progress: Progress): Meaning<ChatEvent> {
  const piece = recordOf(event.delta)
  const { text, toolUse, reasoningContent, image } = piece
  const failure = mediaFailure(piece)
  if (failure !== undefined) return { ...NOTHING, failure }
  if (isRecord(image)) progress.pictures.add(event.contentBlockIndex, image)
  if (textOf(text) !== undefined) {
    progress.hasText = true
    return delta({ text: String(text) })
  }
  if (isRecord(reasoningContent)) {
    const { text: thinking, signature, redactedContent: data } = reasoningContent
    const thought = { thinking, signature, data }
    if (!progress.thoughts.add(event.contentBlockIndex, thought)) return MISNUMBERED
    const reasoning = textOf(thinking)
    return reasoning === undefined ? NOTHING : delta({ reasoning })
  }
  const call = progress.calls.get(event.contentBlockIndex)
  const part = textOf(recordOf(toolUse).input)
  if (call === undefined || part === undefined) return NOTHING
  call.hasInput = true
  return delta({ call: { index: call.index, arguments: part } })
}

/** A tool call without input may have no delta, but clients parse its arguments. */
function endBlock(event: Json, { calls, thoughts, pictures }: Progress): Meaning<ChatEvent> {
  const picture = pictures.end(event.contentBlockIndex)
  if (picture !== undefined) return delta({ picture })
  const call = calls.get(event.contentBlockIndex)
  if (call === undefined) {
    const ended = thoughts.end(event.contentBlockIndex)
    return { ...NOTHING, events: ended.map((thought) => ({ kind: 'thought', choice: 0, thought })) }
  }
  if (call.hasInput) return NOTHING
  call.hasInput = true
  return delta({ call: { index: call.index, arguments: '{}' } })
}

/** The counts follow it. */
function endMessage({ stopReason }: Json, { calls, hasText }: Progress): Meaning<ChatEvent> {
  const failure = failureOf(stopReason)
  if (failure !== undefined) return { ...NOTHING, failure }
  const refusal = hasText ? undefined : refusalOf(stopReason)
  const refused = refusal === undefined ? [] : delta({ refusal }).events
  const finish = finishReason(stopReason, calls.size > 0)
  return { ...NOTHING, events: [...refused, { kind: 'end', choice: 0, finish }] }
}

function endStream({ usage }: Json): Meaning<ChatEvent> {
  const counted = readUsage(usage)
  return { ...NOTHING, done: true, ...(counted && { usage: counted }) }
}

function delta(one: ChatDelta): Meaning<ChatEvent> {
  return { ...NOTHING, events: [{ kind: 'delta', choice: 0, delta: one }] }
}
