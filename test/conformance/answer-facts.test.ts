/**
 * Ids, models and finish reasons of answers, for traces: the same for clients of every wire, and the upstream's own.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiResponsesDialect } from '../../dataplane/apis/openai-responses/dialect.ts'
import { parseRequest } from '../../dataplane/body/request.ts'
import type { Json } from '../../dataplane/json/values.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { pairOf } from '../../dataplane/translation/pair.ts'
import type { Provider, WireReader } from '../../dataplane/wire/provider.ts'
import { aRequest, chatStream, chatWith, ORIGIN } from '../helpers/providers/a-request.ts'
import {
  type AnswerCase,
  readCases,
  readEvents,
  type StreamCase,
  streamNames,
} from '../helpers/providers/provider-fixtures.ts'

interface Choice {
  readonly index: number
  readonly finish_reason: string | null
}

for (const provider of PROVIDERS.values()) {
  test(`${provider.name}: an answer has its id, its model and its finish reason`, () => {
    for (const one of readCases<AnswerCase[]>(provider.name, 'chat/answer.json')) {
      const bytes = Buffer.from(JSON.stringify(one.upstream))
      const answer = chatWith(provider).decode(bytes, aRequest(one.client))
      if (answer.kind === 'failure') continue
      const written = JSON.parse(String(answer.body))
      const reasons = written.choices.map(({ finish_reason }: Choice) => finish_reason)
      const { facts } = answer
      assert.deepEqual([facts?.finish_reasons, facts?.model], [reasons, written.model], one.case)
      assertOwn(facts?.id, { ...(one.upstream as Json), shown: written.id }, one.case)
    }
  })

  for (const stream of streamNames(provider.name)) {
    test(`${provider.name}: ${stream}.sse has its finish reason`, () => {
      const { client, finish, failure } = readCases<StreamCase>(
        provider.name,
        `chat/${stream}.json`,
      )
      const reader = chatStream(provider, aRequest({ stream: true, ...client }))
      const events = readEvents(provider.name, stream)
      const meanings = events.map((event) => reader.read(event))
      const hasFailed = meanings.some(({ failure, broken }) => failure !== undefined || broken)
      assert.equal(hasFailed, failure !== undefined)
      if (!hasFailed) assert.equal(reader.facts.finish_reasons[0] ?? null, finish)
      const text = events.map(({ data }) => data).join()
      const { id } = reader.facts
      const isOwn = id === undefined || text.includes(`"${id}"`) || text.includes('"id":""')
      assert.ok(isOwn, `${id} is not the upstream's`)
    })
  }
}

/** An id that a client gets instead of an empty one counts; one that was made for a wire without ids does not. */
function assertOwn(
  id: string | undefined,
  { id: own, responseId, shown }: Json,
  title: string,
): void {
  if (typeof own === 'string') assert.equal(id, own || shown, title)
  else assert.equal(id, responseId, title)
}

/** Reads a stream of events with a type in their data. */
function readAll(reader: WireReader | undefined, events: readonly Json[]): unknown {
  for (const data of events) reader?.read({ event: String(data.type), data: JSON.stringify(data) })
  return { ...reader?.facts }
}

function provided(name: string): Provider {
  return PROVIDERS.get(name as 'openai') ?? assert.fail()
}

const request = aRequest()

test('messages that pass have the same facts as translated ones', () => {
  const pair = pairOf(anthropicMessagesDialect, provided('anthropic')) ?? assert.fail()
  const message = { id: 'msg_1', model: 'claude-m', content: [{ type: 'tool_use' }] }
  const whole = { ...message, stop_reason: 'tool_use' }
  const answer = pair.decode(Buffer.from(JSON.stringify(whole)), request, ORIGIN)
  const said = { id: 'msg_1', model: 'claude-m', finish_reasons: ['tool_calls'] }
  assert.deepEqual(answer.kind === 'body' && { ...answer.facts }, said)
  const events = [
    { type: 'message_start', message },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens' } },
  ]
  assert.deepEqual(readAll(pair.openStream(request, ORIGIN), events), {
    ...said,
    finish_reasons: ['length'],
  })
})

for (const [about, status, members, reason] of [
  ['that is complete', 'completed', { output: [{ type: 'message' }] }, 'stop'],
  ['that calls a tool', 'completed', { output: [{ type: 'custom_tool_call' }] }, 'tool_calls'],
  [
    'that is too long',
    'incomplete',
    { output: [], incomplete_details: { reason: 'max_output_tokens' } },
    'length',
  ],
  [
    'that was filtered',
    'incomplete',
    { output: [], incomplete_details: { reason: 'content_filter' } },
    'content_filter',
  ],
] as const) {
  test(`a response that passes ${about} ends with ${reason}`, () => {
    const openai = provided('openai')
    const asked = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', stream: true }))
    const request = parseRequest(asked, openAiResponsesDialect.reading, 0)
    const pair = pairOf(openAiResponsesDialect, openai, ['openai-responses']) ?? assert.fail()
    const response = { id: 'resp_1', model: 'gpt', status, ...members }
    const answer = pair.decode(Buffer.from(JSON.stringify(response)), request, ORIGIN)
    const said = { id: 'resp_1', model: 'gpt', finish_reasons: [reason] }
    assert.deepEqual(answer.kind === 'body' && { ...answer.facts }, said)
    const created = { id: 'resp_1', model: 'gpt', status: 'in_progress' }
    const events = [
      { type: 'response.created', response: created },
      { type: `response.${status}`, response },
    ]
    assert.deepEqual(readAll(pair.openStream(request, ORIGIN), events), said)
  })
}

test('an id without an end and a choice without an end are not in a trace', () => {
  const { facts } = chatStream(provided('vllm'), aRequest({ stream: true }))
  facts.begin('x'.repeat(257), undefined)
  facts.end(1e9, 'stop')
  facts.end(1, 'stop')
  assert.deepEqual(
    { ...facts },
    { id: undefined, model: undefined, finish_reasons: [null, 'stop'] },
  )
})
