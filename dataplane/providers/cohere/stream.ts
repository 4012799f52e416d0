/** Reads Cohere's stream. */
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, type Json, parsed, recordOf, rowOf, textOf } from '../../json/values.ts'
import { idIn } from '../../wire/answer-facts.ts'
import type { ChatDelta, ChatEvent, ChatRequest } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Meaning, StreamReader } from '../../wire/provider.ts'
import { BAD_INDEX, Blocks } from '../answers/blocks.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { BROKEN, isBroken } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { callOf } from './answer.ts'
import { deltaOf, failureOf, finishOf, logprobsOf, readUsage } from './said.ts'

/** A tool call in progress. */
interface ToolCall {
  readonly index: number
  hasInput: boolean
}

/** The state after the events so far. */
interface Progress {
  id: string | undefined
  readonly origin: AnswerOrigin
  readonly callsMax: number
  readonly ids: CallIds
  begun: number
  /** The open calls. */
  readonly open: Blocks<ToolCall>
}

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }

const READERS: Readonly<Record<string, (event: Json, progress: Progress) => Meaning<ChatEvent>>> = {
  'message-start': () => NOTHING,
  'content-start': readContent,
  'content-delta': readContent,
  'tool-plan-delta': readPlan,
  'tool-call-start': startCall,
  'tool-call-delta': continueCall,
  'tool-call-end': endCall,
  'message-end': endMessage,
}

export function openChatStream(
  { oneCall, ...asked }: Pick<ChatRequest, 'oneCall'> & Asked,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
  kept: KeptText,
): StreamReader<ChatEvent> {
  const callsMax = oneCall ? 1 : Number.POSITIVE_INFINITY
  const progress: Progress = {
    id: undefined,
    origin,
    callsMax,
    ids: new CallIds(asked),
    begun: 0,
    open: new Blocks(kept),
  }
  return {
    read({ event: name, data }) {
      if (data.trim() === '[DONE]') return { ...NOTHING, done: true }
      const event = parsed(data)
      if (isBroken(data, event)) return { ...NOTHING, failure: BROKEN }
      if (!isRecord(event)) return NOTHING
      if (name === 'error' || isError(event) || typeof event.message === 'string') {
        return { ...NOTHING, failure: classifyError(recognisers, event) }
      }
      // Citations, debug events and unknown events have no meaning.
      const read = rowOf(READERS, textOf(event.type) ?? name)
      if (read === undefined) return NOTHING
      const start = startOf(event, progress)
      const meaning = read(event, progress)
      return start === undefined ? meaning : { ...meaning, events: [start, ...meaning.events] }
    },
  }
}

function startOf(event: Json, progress: Progress): ChatEvent | undefined {
  if (progress.id !== undefined) return undefined
  const { origin } = progress
  progress.id = idIn(event.id) ?? origin.id
  return { kind: 'start', id: progress.id, model: origin.model }
}

function messageIn(event: Json): Json {
  return recordOf(recordOf(event.delta).message)
}

function readContent(event: Json): Meaning<ChatEvent> {
  const piece = deltaOf(messageIn(event).content)
  if (piece === undefined) return NOTHING
  const logprobs = logprobsOf(event.logprobs)
  return delta({ ...piece, ...(logprobs && { logprobs }) })
}

function readPlan(event: Json): Meaning<ChatEvent> {
  const reasoning = textOf(messageIn(event).tool_plan)
  return reasoning === undefined ? NOTHING : delta({ reasoning })
}

function startCall(event: Json, progress: Progress): Meaning<ChatEvent> {
  if (progress.begun >= progress.callsMax) return NOTHING
  const index = progress.begun
  const raw = callIn(event)
  const part = textOf(recordOf(raw.function).arguments)
  const call = { index, hasInput: part !== undefined }
  if (!progress.open.begin(event.index, call)) return { ...NOTHING, failure: BAD_INDEX }
  progress.begun++
  const { id, name } = callOf(raw, String(progress.id), index, progress.ids)
  return delta({ call: { index, id, name, arguments: part ?? '' } })
}

function continueCall(event: Json, { open }: Progress): Meaning<ChatEvent> {
  const call = open.get(event.index)
  const part = textOf(recordOf(callIn(event).function).arguments)
  if (call === undefined || part === undefined) return NOTHING
  call.hasInput = true
  return delta({ call: { index: call.index, arguments: part } })
}

/** A tool call without input may have no delta, but clients parse its arguments. */
function endCall(event: Json, { open }: Progress): Meaning<ChatEvent> {
  const call = open.get(event.index)
  open.end(event.index)
  if (call === undefined || call.hasInput) return NOTHING
  return delta({ call: { index: call.index, arguments: '{}' } })
}

/** One object, unlike the list of a whole answer. */
function callIn(event: Json): Json {
  const { tool_calls: calls } = messageIn(event)
  return recordOf(Array.isArray(calls) ? calls[0] : calls)
}

function endMessage(event: Json, progress: Progress): Meaning<ChatEvent> {
  const { finish_reason: reason, usage, error } = recordOf(event.delta)
  const failure = failureOf(reason, error)
  if (failure !== undefined) return { ...NOTHING, failure }
  const counted = readUsage(usage)
  const finish = finishOf(reason, progress.begun > 0)
  return {
    events: [{ kind: 'end', choice: 0, finish }],
    done: true,
    ...(counted && { usage: counted }),
  }
}

function delta(one: ChatDelta): Meaning<ChatEvent> {
  return { ...NOTHING, events: [{ kind: 'delta', choice: 0, delta: one }] }
}
