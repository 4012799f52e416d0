/** Requests and answers of clients that use Anthropic's wire: bytes pass, and the gateway reads their meaning. */

import { type Change, editedBody } from '../../json/edit.ts'
import { changedMember } from '../../json/steps/member.ts'
import { memberOf } from '../../json/unwritten.ts'
import {
  isRecord,
  type Json,
  listOf,
  parsed,
  parsedBytes,
  parsedExactly,
  recordOf,
  textOf,
} from '../../json/values.ts'
import { AnswerFacts } from '../../wire/answer-facts.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type {
  Failure,
  Passed,
  ProviderSettings,
  SameWire,
  UpstreamRequest,
  WireReader,
} from '../../wire/provider.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { hasMarks } from '../marks.ts'
import { ROUTING } from '../routing-members.ts'
import { finishReason, knownCounts, readUsage } from './answer.ts'
import { autoMarks } from './auto-marks.ts'

/** Name of this wire; dialects of clients have the same name. */
export const WIRE = 'anthropic-messages'

const SIGNATURE = '"signature"'
const END = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'

/** Differences between servers of this wire. */
export interface Passes {
  /** Members that clients may not set. */
  readonly own?: readonly string[] | undefined
  /** Whether the server accepts thinking without a signature; Anthropic refuses it. */
  readonly takesUnsigned?: boolean
  /** New values of members; `undefined` removes a member. */
  readonly edits?: ReadonlyMap<string, Change>
}

/** The client's bytes, with only the necessary changes. */
export function passedBody(
  request: ChatRequest,
  { model, capabilities: { outputMost } }: ProviderSettings,
  { own = [], takesUnsigned, edits: changes }: Passes = {},
): UpstreamRequest['body'] {
  const { bytes, spans, omitted } = request
  const edits = new Map<string, Change>(changes)
  if (request.body.model !== model) edits.set('model', JSON.stringify(model))
  for (const name of spans.keys())
    if (ROUTING.has(name) || own.includes(name) || omitted?.has(name)) edits.set(name, undefined)
  if (outputMost !== undefined && (request.maxTokens ?? 0) > outputMost)
    edits.set('max_tokens', String(outputMost))
  const { isUnsealed } = request
  const isThinking = isUnsealed || (!takesUnsigned && bytes.includes(SIGNATURE))
  const isLeftOut = isThinking ? (isUnsealed ? isThought : isUnsigned) : undefined
  const marks = request.isAutoMarked && !hasMarks(request) ? marksFor(request, model) : undefined
  for (const [name, value] of marks?.before ?? []) edits.set(name, memberOf(value, bytes))
  if (marks !== undefined || isLeftOut !== undefined)
    changeMessages(edits, request, isLeftOut, marks)
  // A turn that continues after tool calls may only think if its earlier thinking is present.
  if (isUnsealed && spans.has('thinking')) edits.set('thinking', undefined)
  return editedBody(bytes, spans, edits)
}

type Test = (block: unknown) => boolean

interface Marks {
  /** The marked members before the messages. */
  readonly before: readonly (readonly [string, unknown])[]
  /** The messages with marks; undefined if they get none. */
  marked(messages: unknown): unknown
}

function marksFor(request: ChatRequest, model: string): Marks {
  const before = { tools: memberIn('tools', request), system: memberIn('system', request) }
  return {
    before: Object.entries(autoMarks(before, model)),
    marked: (messages) => autoMarks({ ...before, messages }, model).messages,
  }
}

function memberIn(name: string, { bytes, spans, omitted }: ChatRequest): unknown {
  const span = spans.get(name)
  if (span === undefined || omitted?.has(name)) return undefined
  return parsedExactly(bytes.toString('utf8', span.start, span.end))
}

function changeMessages(
  edits: Map<string, Change>,
  { bytes, spans }: ChatRequest,
  isLeftOut: Test | undefined,
  marks: Marks | undefined,
): void {
  const span = spans.get('messages')
  const changed =
    span &&
    changedMember(bytes, span, (messages) => {
      const kept = isLeftOut && keptOf(messages, isLeftOut)
      return marks?.marked(kept ?? messages) ?? kept
    })
  if (changed !== undefined) edits.set('messages', changed)
}

/** The messages without some of their blocks; undefined if they have no such block. */
function keptOf(value: unknown, isLeftOut: Test): Json[] | undefined {
  const messages = listOf(value).map(recordOf)
  if (!messages.some(({ content }) => listOf(content).some(isLeftOut))) return undefined
  const kept = messages.map((message) => {
    const { content } = message
    return Array.isArray(content)
      ? { ...message, content: content.filter((block) => !isLeftOut(block)) }
      : message
  })
  return kept.filter(({ content }) => !Array.isArray(content) || content.length > 0)
}

function isThought(block: unknown): boolean {
  const { type } = recordOf(block)
  return type === 'thinking' || type === 'redacted_thinking'
}

/** Thinking of another provider has no signature, and the API refuses it. */
function isUnsigned(block: unknown): boolean {
  const { type, signature } = recordOf(block)
  return type === 'thinking' && signature === ''
}

export function sameWire(
  recognisers: readonly Recogniser[],
): SameWire<'chat'> & Required<Pick<SameWire<'chat'>, 'openStream'>> {
  return {
    wire: WIRE,
    decode: (body) => readPassed(body, recognisers),
    openStream: () => openPassed(recognisers),
    counts: '/count_tokens',
  }
}

function readPassed(body: Buffer, recognisers: readonly Recogniser[]): Passed {
  const answer = parsedBytes(body)
  if (isRecord(answer) && isError(answer)) return failed(classifyError(recognisers, answer))
  if (isRecord(answer) && Array.isArray(answer.content))
    return { kind: 'body', body, usage: readUsage(answer.usage), facts: factsOf(answer) }
  return failed(malformed('The upstream answered without content.'))
}

function factsOf({ id, model, content, stop_reason }: Json): AnswerFacts {
  const facts = new AnswerFacts()
  facts.begin(id, model)
  const called = listOf(content).some((block) => recordOf(block).type === 'tool_use')
  if (textOf(stop_reason) !== undefined) facts.end(0, finishReason(stop_reason, called))
  return facts
}

function failed(failure: Failure): Passed {
  return { kind: 'failure', failure }
}

function openPassed(recognisers: readonly Recogniser[]): WireReader {
  let usage: Json = {}
  const passed = { out: 'same', content: false, finished: false, done: false } as const
  const facts = new AnswerFacts()
  return {
    passesComments: true,
    facts,
    read({ data }) {
      const event = parsed(data)
      if (!isRecord(event)) return { ...passed, broken: true }
      if (event.type === 'error')
        return { ...passed, out: '', failure: classifyError(recognisers, event) }
      usage = { ...usage, ...knownCounts(event.usage ?? recordOf(event.message).usage) }
      const counted = readUsage(usage)
      if (isRecord(event.message)) facts.begin(event.message.id, event.message.model)
      const reason = textOf(recordOf(event.delta).stop_reason)
      if (reason !== undefined) facts.end(0, finishReason(reason, false))
      return {
        ...passed,
        content: isContent(event),
        said: saidIn(event),
        finished: reason !== undefined,
        done: event.type === 'message_stop',
        ...(counted && { usage: counted }),
      }
    },
    end: () => END,
  }
}

function saidIn({ content_block: block, delta }: Json): string {
  const { text, thinking, partial_json: input } = recordOf(delta)
  return textOf(text ?? thinking ?? input ?? recordOf(block).name) ?? ''
}

function isContent({ type, content_block: block }: Json): boolean {
  return type === 'content_block_delta' || recordOf(block).type === 'tool_use'
}
