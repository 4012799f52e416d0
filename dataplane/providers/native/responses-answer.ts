/** Reads the meaning and the usage of responses that pass to the client unchanged. */

import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsed,
  parsedBytes,
  recordOf,
  textOf,
} from '../../json/values.ts'
import { AnswerFacts } from '../../wire/answer-facts.ts'
import type { ChatRequest, Sent, Usage } from '../../wire/inner-form.ts'
import type { Failure, Passed, WireMeaning, WireReader } from '../../wire/provider.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'

const PASSED: WireMeaning = { out: 'same', content: false, finished: false, done: false }
const HIDDEN: WireMeaning = { ...PASSED, out: '' }
const CLIENTS: Recogniser = { class: 'client', code: 'invalid_prompt' }
/** The server is of another kind than configured: it answers every request as a chat completion. */
const OF_CHAT: Failure = {
  ...malformed('The upstream answered with a chat completion instead of a response.'),
  workaround: 'translated',
}
const PENDING: readonly unknown[] = ['queued', 'in_progress']
const BYTES_PER_TOKEN = 4
const CALLS: readonly unknown[] = ['function_call', 'custom_tool_call']

export function readResponse(
  body: Buffer,
  request: Sent<ChatRequest>,
  recognisers: readonly Recogniser[],
): Passed {
  const answer = parsedBytes(body)
  if (!isRecord(answer)) return failed(malformed("The upstream's answer is not a response."))
  if (Array.isArray(answer.choices)) return failed(OF_CHAT)
  const isPending = PENDING.includes(answer.status)
  const usage = usageOf(answer.usage) ?? (isPending ? mostOf(request) : undefined)
  if (answer.error || answer.status === 'failed')
    return failed(classifyError([CLIENTS, ...recognisers], answer), usage)
  if (!Array.isArray(answer.output))
    return failed(malformed('The upstream answered without output.'))
  const facts = new AnswerFacts()
  note(answer, facts)
  return { kind: 'body', body, usage, facts }
}

/** The wire has a reason only for incomplete responses; the last item shows whether the model calls a tool. */
function note({ id, model, status, output, incomplete_details }: Json, facts: AnswerFacts): void {
  facts.begin(id, model)
  if (status === 'completed') {
    const isCall = CALLS.includes(recordOf(listOf(output).at(-1)).type)
    facts.end(0, isCall ? 'tool_calls' : 'stop')
  } else if (status === 'incomplete') {
    const { reason } = recordOf(incomplete_details)
    facts.end(0, reason === 'max_output_tokens' ? 'length' : reason)
  }
}

function failed(failure: Failure, usage?: Usage): Passed {
  return { kind: 'failure', failure, usage }
}

export function openResponse(recognisers: readonly Recogniser[]): WireReader {
  const known = [CLIENTS, ...recognisers]
  const facts = new AnswerFacts()
  return {
    passesComments: false,
    facts,
    read({ event: name, data }) {
      // Some servers end their streams like those of chat completions.
      if (data.trim() === '[DONE]') return HIDDEN
      const event = parsed(data)
      if (!isRecord(event)) return { ...PASSED, broken: true }
      const type = textOf(event.type) ?? name
      if (type === '' && Array.isArray(event.choices)) return { ...HIDDEN, failure: OF_CHAT }
      if (type === '' && event.error) return { ...HIDDEN, failure: classifyError(known, event) }
      if (isRecord(event.response)) note(event.response, facts)
      return meaningOf(type, event, known)
    },
    end: () => '',
  }
}

function meaningOf(type: string, event: Json, known: readonly Recogniser[]): WireMeaning {
  const response = recordOf(event.response)
  const usage = usageOf(response.usage)
  const used = usage && { usage }
  switch (type) {
    case 'response.completed':
    case 'response.incomplete':
      return { ...PASSED, finished: true, done: true, ...used }
    case 'response.failed':
      return { ...HIDDEN, failure: classifyError(known, response), ...used }
    // The failure itself follows, with its usage.
    case 'error':
      return {
        ...HIDDEN,
        pending: classifyError(known, isRecord(event.error) ? event : { error: event }),
      }
    // The gateway has its own.
    case 'keepalive':
      return HIDDEN
  }
  const said = textOf(event.delta) ?? textOf(recordOf(event.item).name) ?? ''
  return { ...PASSED, content: isContent(type, event), said, ...used }
}

function isContent(type: string, { delta, item }: Json): boolean {
  if (type.endsWith('.delta')) return textOf(delta) !== undefined
  if (type === 'response.output_item.added') return CALLS.includes(recordOf(item).type)
  // Other items have no deltas: their content is in the event that completes them.
  return type === 'response.output_item.done' && listOf(recordOf(item).content).length === 0
}

export function usageOf(usage: unknown): Usage | undefined {
  const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } =
    recordOf(usage)
  const promptTokens = countOf(input_tokens)
  const completionTokens = countOf(output_tokens)
  if (promptTokens === undefined || completionTokens === undefined) return undefined
  const { cached_tokens: cached, cache_write_tokens: written } = recordOf(input_tokens_details)
  const cacheWriteTokens = countOf(written)
  return {
    promptTokens,
    completionTokens,
    cachedTokens: countOf(cached) ?? 0,
    ...(cacheWriteTokens && { cacheWriteTokens }),
    reasoningTokens: countOf(recordOf(output_tokens_details).reasoning_tokens) ?? 0,
    estimated: false,
  }
}

/** The tokens that a response without a connected client may use, because it reports no usage. */
function mostOf({ bytes, promptTokensMax, maxTokens = 0 }: Sent<ChatRequest>): Usage {
  return {
    promptTokens: Math.min(Math.ceil(bytes.length / BYTES_PER_TOKEN), promptTokensMax),
    completionTokens: maxTokens,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  }
}
