/**
 * One response for the client: its id, and the numbers of the sent events. Heartbeats, attempts and refusals share
 * it, because clients accept neither a second start nor a gap.
 */
import { randomBytes } from 'node:crypto'
import type { GatewayError } from '../../base/errors.ts'
import { isRecord, type Json, recordOf, textOf } from '../../json/values.ts'
import type { StreamVoice } from '../../wire/dialect.ts'
import type { ChatRequest, Sent } from '../../wire/inner-form.ts'
import { openAiCodeOf, openAiWire } from '../openai/wire.ts'
import type { ResponsesBody, StateUse } from './request/shape.ts'
import type { Tools } from './request/tools.ts'

interface SessionParts {
  readonly asked: ResponsesBody
  readonly tools: Tools
  readonly state: StateUse | undefined
  readonly createdSeconds: number
}

const ID_BYTES = 16
/** By the request's bytes, which all its copies share. */
const sessions = new WeakMap<Buffer, Session>()

export function beginSession(bytes: Buffer, parts: SessionParts): void {
  sessions.set(bytes, new Session(parts))
}

export function sessionOf({ bytes }: Sent<ChatRequest>): Session {
  // The reader of the request has created it.
  return sessions.get(bytes) as Session
}

export class Session implements StreamVoice {
  readonly tools: Tools
  /** Complete items, for the last event. */
  output: readonly Json[] = []
  id = mintedId('resp')
  /** How the request uses stored responses; undefined for nearly all requests. */
  readonly state: StateUse | undefined
  /** The previous response, if no upstream stores it under its id. */
  previous: string | undefined
  #sealed: ((id: string) => string) | undefined
  readonly #asked: Json
  readonly #createdSeconds: number
  #next = 0

  constructor({ asked, tools, state, createdSeconds }: SessionParts) {
    this.tools = tools
    this.state = state
    this.#createdSeconds = createdSeconds
    this.#asked = echoed(asked)
  }

  /** Whether `response.created` has been sent. */
  get hasBegun(): boolean {
    return this.#next > 0
  }

  /** The number of the next event. */
  nextNumber(): number {
    return this.#next++
  }

  /** The upstream stores the response, so the client's id is derived from the upstream's. */
  keep(sealed: (id: string) => string): void {
    this.#sealed = sealed
  }

  /** The members of an upstream's response, with the ids that the client knows. */
  shown(response: Json): Json {
    const { id, previous_response_id: previous, conversation } = response
    const raw = textOf(id)
    if (this.#sealed !== undefined && raw !== undefined) this.id = this.#sealed(raw)
    const earlier = this.previous ?? this.state?.previous ?? null
    const isFirst = previous == null && this.previous === undefined
    const before = isFirst ? {} : { previous_response_id: earlier }
    const known = this.state?.conversation
    const within =
      conversation == null ? {} : { conversation: known === undefined ? null : { id: known } }
    return { id: this.id, ...before, ...within }
  }

  ping(): string {
    // Only the upstream knows the id, and the first event contains it.
    if (this.#sealed !== undefined && this.#next === 0) return openAiWire.heartbeat
    return this.#next === 0 ? this.begun() : this.event('keepalive', {})
  }

  /** The first events, unless they have been sent. */
  begun(): string {
    if (this.#next > 0) return ''
    const response = this.response('in_progress', {})
    return (
      this.event('response.created', { response }) +
      this.event('response.in_progress', { response })
    )
  }

  refusalEvent(error: GatewayError): string {
    const { code, details } = error
    const message = `${code}: ${error.message}${waitOf(error)}`
    const param = details.param ?? null
    const flat = { code, message, param, error: { type: 'server_error', code, message, param } }
    const failed = { code: openAiCodeOf(error) ?? 'server_error', message }
    return (
      this.begun() +
      this.event('error', flat) +
      this.event('response.failed', { response: this.response('failed', { error: failed }) })
    )
  }

  event(type: string, members: Json): string {
    const data = JSON.stringify({ type, sequence_number: this.#next++, ...members })
    return `event: ${type}\ndata: ${data}\n\n`
  }

  response(status: string, members: Json): Json {
    return {
      id: this.id,
      object: 'response',
      created_at: this.#createdSeconds,
      status,
      background: false,
      error: null,
      incomplete_details: null,
      ...this.#asked,
      ...(this.previous !== undefined && { previous_response_id: this.previous }),
      output: this.output,
      usage: null,
      ...members,
    }
  }
}

/** Agents read the waiting time from the message. */
function waitOf(error: GatewayError): string {
  const { message, details } = error
  const { retryAfterSeconds: seconds } = details
  const isKnown = openAiCodeOf(error) === 'rate_limit_exceeded' && seconds !== undefined
  return isKnown && !/try again in/i.test(message) ? ` Please try again in ${seconds}s.` : ''
}

export function mintedId(kind: 'resp' | 'msg' | 'fc' | 'ctc' | 'rs' | 'ig' | 'call'): string {
  return `${kind}_${randomBytes(ID_BYTES).toString('hex')}`
}

/** The settings that every response repeats, with the API's defaults. */
function echoed(asked: ResponsesBody): Json {
  const { effort = null, summary = null } = recordOf(asked.reasoning)
  return {
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: isRecord(asked.metadata) ? asked.metadata : {},
    model: asked.model,
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    previous_response_id: asked.previous_response_id ?? null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: { effort, summary },
    safety_identifier: asked.safety_identifier ?? null,
    service_tier: asked.service_tier ?? 'default',
    store: false,
    temperature: asked.temperature ?? null,
    text: { format: { type: 'text' }, ...recordOf(asked.text) },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: asked.tools ?? [],
    top_logprobs: asked.top_logprobs ?? 0,
    top_p: asked.top_p ?? null,
    truncation: 'disabled',
    user: asked.user ?? null,
  }
}
