/** Reads Anthropic's stream as chunks of a chat completion. */
import type { ChatRequest } from '../../call.ts'
import { isRecord, parsed, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { EventMeaning, StreamReader } from '../contract.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { completionId, finishReason, readUsage, refusalOf, usageObject } from './answer.ts'

type Json = Readonly<Record<string, unknown>>

/** A tool call being told; its place among the calls is not its block's. */
interface Call {
  readonly index: number
  readonly input: Json
  told: boolean
}

/** What the events so far have told. */
interface Telling {
  readonly request: ChatRequest
  id: string
  model: unknown
  usage: Json
  /** By the block's index. */
  readonly calls: Map<unknown, Call>
}

const NOTHING: EventMeaning = { out: [], content: false, finished: false, done: false }

const READERS: Readonly<Record<string, (event: Json, telling: Telling) => EventMeaning>> = {
  message_start: startMessage,
  content_block_start: startBlock,
  content_block_delta: continueBlock,
  content_block_stop: endBlock,
  message_delta: endMessage,
  message_stop: endStream,
}

export function openMessageStream(
  request: ChatRequest,
  recognisers: readonly Recogniser[],
): StreamReader {
  const telling: Telling = { request, id: '', model: '', usage: {}, calls: new Map() }
  return {
    read({ data }) {
      const event = parsed(data)
      // A broken event has no translation; pings and kinds that are not known have no meaning.
      if (!isRecord(event)) return NOTHING
      if (event.type === 'error') {
        return { ...NOTHING, failure: classifyError(recognisers, event) }
      }
      return rowOf(READERS, event.type)?.(event, telling) ?? NOTHING
    },
  }
}

function startMessage(event: Json, telling: Telling): EventMeaning {
  const message = recordOf(event.message)
  telling.id = completionId(message.id)
  telling.model = message.model
  telling.usage = recordOf(message.usage)
  return { ...NOTHING, out: [chunk(telling, { role: 'assistant', content: '' })] }
}

function startBlock(event: Json, telling: Telling): EventMeaning {
  const block = recordOf(event.content_block)
  if (block.type !== 'tool_use') return deltaOf(block, telling)
  const index = telling.calls.size
  telling.calls.set(event.index, { index, input: recordOf(block.input), told: false })
  const called = { name: block.name, arguments: '' }
  return content(telling, {
    tool_calls: [{ index, id: block.id, type: 'function', function: called }],
  })
}

function continueBlock(event: Json, telling: Telling): EventMeaning {
  const delta = recordOf(event.delta)
  const call = telling.calls.get(event.index)
  const part = textOf(delta.partial_json)
  if (call === undefined || part === undefined) return deltaOf(delta, telling)
  call.told = true
  return content(telling, { tool_calls: [{ index: call.index, function: { arguments: part } }] })
}

/** A tool without input may get no delta at all, and clients parse what they got. */
function endBlock(event: Json, telling: Telling): EventMeaning {
  const call = telling.calls.get(event.index)
  if (call === undefined || call.told) return NOTHING
  call.told = true
  const input = JSON.stringify(call.input)
  return content(telling, { tool_calls: [{ index: call.index, function: { arguments: input } }] })
}

function endMessage(event: Json, telling: Telling): EventMeaning {
  telling.usage = { ...telling.usage, ...known(recordOf(event.usage)) }
  const delta = recordOf(event.delta)
  const usage = readUsage(telling.usage)
  const meaning = { ...NOTHING, ...(usage && { usage }) }
  if (textOf(delta.stop_reason) === undefined) return meaning
  const refusal = refusalOf(delta)
  const reason = finishReason(delta.stop_reason, telling.calls.size > 0)
  const out = [chunk(telling, refusal === undefined ? {} : { refusal }, reason)]
  return { ...meaning, out, content: refusal !== undefined, finished: true }
}

function endStream(_event: Json, telling: Telling): EventMeaning {
  const usage = readUsage(telling.usage)
  if (usage === undefined || !telling.request.includeUsage) return { ...NOTHING, done: true }
  const last = { ...chunkObject(telling), choices: [], usage: usageObject(usage, telling.usage) }
  return { ...NOTHING, out: [JSON.stringify(last)], done: true, usage }
}

/** Counts that are null say nothing and must not hide earlier ones. */
function known(usage: Json): Json {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null))
}

function deltaOf(block: Json, telling: Telling): EventMeaning {
  const text = textOf(block.text)
  if (text !== undefined) return content(telling, { content: text })
  const thinking = textOf(block.thinking)
  return thinking === undefined ? NOTHING : content(telling, { reasoning_content: thinking })
}

function content(telling: Telling, delta: Json): EventMeaning {
  return { ...NOTHING, out: [chunk(telling, delta)], content: true }
}

function chunk(telling: Telling, delta: Json, reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: reason }]
  return JSON.stringify({ ...chunkObject(telling), choices })
}

function chunkObject({ request, id, model }: Telling): Json {
  return {
    id,
    object: 'chat.completion.chunk',
    created: request.createdSeconds,
    model,
    ...(request.includeUsage && { usage: null }),
  }
}
