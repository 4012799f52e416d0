/** Members of requests that a client may not set are left out: those that reach into a runtime, or choose its host. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { messagesReading } from '../../../dataplane/apis/anthropic-messages/reading.ts'
import { responsesReading } from '../../../dataplane/apis/openai-responses/request/reading.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import type { UpstreamRequest } from '../../../dataplane/wire/provider.ts'
import {
  aCompletionsRequest,
  anEmbeddingsRequest,
  aRequest,
  someSettings,
} from '../../helpers/providers/a-request.ts'

const OWN: Readonly<Record<string, readonly string[]>> = {
  vllm: ['kv_transfer_params', 'priority', 'prompt_embeds', 'request_id'],
  sglang: [
    ...['bootstrap_host', 'bootstrap_port', 'bootstrap_room', 'custom_logit_processor'],
    ...['data_parallel_rank', 'lora_path', 'priority', 'request_id', 'rid', 'session_params'],
  ],
  llamacpp: ['id_slot', 'lora', 'n_predict'],
}
const ROUTING = ['api_base', 'base_url', 'api_key', 'extra_headers', 'organization']
const KEPT = 'top_k'

type Members = Readonly<Record<string, unknown>>

const messages = [{ role: 'user', content: 'Hi' }]
const bytesOf = (members: Members) => Buffer.from(JSON.stringify({ model: 'm', ...members }))

type Sent = (name: string, members: Members) => UpstreamRequest | undefined

const settings = someSettings()
const messageOf = (members: Members) =>
  parseRequest(bytesOf({ messages, max_tokens: 5, ...members }), messagesReading, 7)
const operationsOf = (name: string) => (PROVIDERS.get(name) ?? assert.fail()).operations
const nativeOf = (name: string, api: string) =>
  operationsOf(name).chat?.natives?.find((native) => native.api === api)

/** The request that an upstream gets from a client with the same API. */
const APIS: Readonly<Record<string, Sent>> = {
  chat: (name, members) => operationsOf(name).chat?.encode(aRequest(members), settings, undefined),
  completions: (name, members) =>
    operationsOf(name).completions?.encode(aCompletionsRequest(members), settings, undefined),
  embeddings: (name, members) =>
    operationsOf(name).embeddings?.encode(anEmbeddingsRequest(members), settings, undefined),
  messages: (name, members) =>
    nativeOf(name, 'messages')?.encode(messageOf(members), settings, undefined),
  responses(name, members) {
    const request = parseRequest(bytesOf({ input: 'Hi', ...members }), responsesReading, 7)
    return nativeOf(name, 'responses')?.encode(request, settings, undefined)
  },
}

function bodyOf(request: UpstreamRequest | undefined): Members {
  return JSON.parse(String((request ?? assert.fail('no such API')).body))
}

for (const [name, own] of Object.entries(OWN)) {
  for (const [api, sent] of Object.entries(APIS)) {
    test(`${name} gets no member with which a client would reach into it: ${api}`, () => {
      const members = Object.fromEntries([...own, ...ROUTING, KEPT].map((member) => [member, 1]))
      assert.deepEqual(
        Object.keys(members).filter((member) => member in bodyOf(sent(name, members))),
        [KEPT],
      )
    })
  }
}

test('a message passes to Anthropic without members that would choose a host or a credential', () => {
  const members = Object.fromEntries([...ROUTING, KEPT].map((member) => [member, 1]))
  const request = pairOf(anthropicMessagesDialect, PROVIDERS.get('anthropic') ?? assert.fail())
  const body = bodyOf(request?.encode(messageOf(members), settings, undefined))
  assert.deepEqual(
    Object.keys(members).filter((member) => member in body),
    [KEPT],
  )
})
