/** Tokens that a prompt cache keeps for an hour are charged at their own price, over each API of clients, whole and streamed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePrices, costOf } from '../../dataplane/accounts/price.ts'
import { parseRequest } from '../../dataplane/body/request.ts'
import type { ModelRequest, Usage } from '../../dataplane/wire/inner-form.ts'
import type { WireEvent } from '../../dataplane/wire/provider.ts'
import { wireOf } from '../helpers/conversations/asked.ts'
import { ORIGIN } from '../helpers/providers/a-request.ts'

/** 10 tokens of plain input, 1,000 read, 200 written for five minutes, 300 for an hour, and 5 of the answer. */
const NANOS = 10 * 3_000 + 1_000 * 300 + 200 * 3_750 + 300 * 6_000 + 5 * 15_000
const LISTED = { model: 'm', input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }
const PRICE = compilePrices({ models: [{ ...LISTED, cache_write_1h: 6 }] }).get('m')

const INPUT = {
  ...{ input_tokens: 10, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 500 },
  cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 300 },
}
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] }
const CONVERSE = {
  ...{ inputTokens: 10, outputTokens: 5, totalTokens: 1_515 },
  ...{ cacheReadInputTokens: 1_000, cacheWriteInputTokens: 500 },
  cacheDetails: [
    { ttl: '1h', inputTokens: 300 },
    { ttl: '5m', inputTokens: 200 },
  ],
}
const said = (data: { readonly type: string }): WireEvent => ({
  event: data.type,
  data: JSON.stringify(data),
})

const VENDORS = {
  anthropic: {
    whole: { ...MESSAGE, stop_reason: 'end_turn', usage: { ...INPUT, output_tokens: 5 } },
    events: [
      said({
        type: 'message_start',
        message: { ...MESSAGE, usage: { ...INPUT, output_tokens: 1 } },
      } as never),
      said({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: 5 },
      } as never),
      said({ type: 'message_stop' }),
    ],
  },
  bedrock: {
    whole: {
      output: { message: { content: [{ text: 'ok' }] } },
      stopReason: 'end_turn',
      usage: CONVERSE,
    },
    events: [
      { event: 'messageStop', data: '{"stopReason":"end_turn"}' },
      { event: 'metadata', data: JSON.stringify({ usage: CONVERSE }) },
    ],
  },
}

for (const [provider, { whole, events }] of Object.entries(VENDORS))
  for (const api of ['chat', 'messages', 'responses']) {
    const { client, pair } = wireOf(api, provider, 'tenant')
    const asked = (stream: boolean): ModelRequest => {
      const hi = [{ role: 'user', content: 'Hi' }]
      const asks = api === 'responses' ? { input: hi } : { max_tokens: 9, messages: hi }
      const body = { model: 'route', stream, ...asks }
      return parseRequest(Buffer.from(JSON.stringify(body)), client.dialect.reading, 1)
    }

    test(`a whole answer of ${provider} to ${api} costs its tokens of an hour`, () => {
      const decoded = pair.decode(Buffer.from(JSON.stringify(whole)), asked(false), ORIGIN)
      assert.equal(decoded.kind, 'body')
      assert.equal(costOf((decoded as { usage: Usage }).usage, PRICE), NANOS)
    })

    test(`a stream of ${provider} to ${api} costs its tokens of an hour`, () => {
      const reader = pair.openStream(asked(true), ORIGIN)
      const reported = events.flatMap((one) => reader?.read(one).usage ?? [])
      assert.equal(costOf(reported.at(-1) as Usage, PRICE), NANOS)
    })
  }
