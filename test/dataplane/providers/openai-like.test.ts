/** The base of the providers with OpenAI's wire: which bytes stay, and what is read from which event. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chatReading } from '../../../dataplane/apis/openai-chat/reading.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { azure_openai } from '../../../dataplane/providers/azure_openai/provider.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { llamacpp } from '../../../dataplane/providers/llamacpp/provider.ts'
import { openai } from '../../../dataplane/providers/openai/provider.ts'
import { sglang } from '../../../dataplane/providers/sglang/provider.ts'
import { triton } from '../../../dataplane/providers/triton/provider.ts'
import { vllm } from '../../../dataplane/providers/vllm/provider.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import {
  aRequest,
  aRequestOf,
  bytesOf,
  chatStream,
  chatWith,
  settingsOf,
  someSettings,
} from '../../helpers/providers/a-request.ts'

const eventOf = (json: string) => `data: ${json}\n\n`
const messages = [{ role: 'user', content: 'Hi 🌦 "quoted" \\ back' }]

test('bytes are sent unchanged if nothing must change', () => {
  const request = aRequest({ max_tokens: 5, model: 'upstream-model' })
  assert.equal(chatWith(vllm).encode(request, someSettings(), undefined).body, request.bytes)
})

test('OpenAI gets the configured project, and no other', () => {
  const headersFor = (settings: Parameters<typeof someSettings>[0]) =>
    chatWith(openai).encode(aRequest(), someSettings(settings), undefined).headers
  assert.equal(headersFor({ project: 'proj_1' })['openai-project'], 'proj_1')
  assert.equal('openai-project' in headersFor({}), false)
})

test('a limit of the gateway replaces one that means no limit', () => {
  for (const member of ['max_tokens', 'max_completion_tokens']) {
    const bytes = Buffer.from(JSON.stringify({ model: 'm', messages, [member]: -1 }))
    const request = parseRequest(bytes, chatReading, 7)
    const sent = (limit: number | undefined) => {
      const { body } = chatWith(llamacpp).encode(request, someSettings(), limit)
      return JSON.parse(String(body)) as Record<string, unknown>
    }
    assert.deepEqual(sent(undefined), { model: 'upstream-model', messages })
    assert.deepEqual(sent(9), { model: 'upstream-model', messages, max_tokens: 9 })
    assert.throws(() => chatWith(vllm).encode(request, someSettings(), 9), { params: [member] })
  }
})

test('usage next to the finish reason gets its own event, once', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  const end = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }
  const alone = { id: 'c', choices: [], usage }
  const read = (options: object) => {
    const stream = chatStream(vllm, aRequest({ stream: true, stream_options: options }))
    return [end, alone].map((chunk) => stream.read({ event: '', data: JSON.stringify(chunk) }).out)
  }
  const { usage: _, ...bare } = end
  assert.deepEqual(read({ include_usage: true }), [eventOf(JSON.stringify(bare)), 'same'])
  const continuous = { include_usage: true, continuous_usage_stats: true }
  assert.deepEqual(read(continuous), ['same', 'same'])
})

test('if only the model changes, all other bytes stay', () => {
  const extras = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,9}$/), fc.jsonValue({ maxDepth: 3 }))
  const layout = fc.constantFrom(undefined, 1, '\t', '    ')
  fc.assert(
    fc.property(extras, layout, fc.string(), (members, indentation, model) => {
      const text = JSON.stringify(
        { ...members, model: 'a', messages, ...members },
        null,
        indentation,
      )
      const request = aRequestOf(text)
      const body = chatWith(openai).encode(request, settingsOf('openai', { model }), undefined).body
      const span = request.spans.get('model')!
      const expected = Buffer.concat([
        request.bytes.subarray(0, span.start),
        Buffer.from(JSON.stringify(model)),
        request.bytes.subarray(span.end),
      ])
      assert.deepEqual(bytesOf(body), expected)
    }),
  )
})

test('a stream asks for usage and keeps every other option of the client', () => {
  const member = fc.stringMatching(/^[a-z]{1,3}$/)
  const options = fc.option(fc.dictionary(member, fc.jsonValue()), { nil: null })
  fc.assert(
    fc.property(fc.dictionary(member, fc.jsonValue()), options, (members, asked) => {
      const sent = { ...members, stream: true, stream_options: asked, messages, n: 1 }
      // As JSON can write it: without negative zeros.
      const client = JSON.parse(JSON.stringify(sent)) as typeof sent
      const body = JSON.parse(
        String(chatWith(openai).encode(aRequest(client), someSettings(), 9).body),
      ) as object
      assert.deepEqual(body, {
        ...client,
        model: 'upstream-model',
        stream_options: { ...client.stream_options, include_usage: true },
        max_completion_tokens: 9,
      })
    }),
  )
})

test('stream options that are not an object are left for the upstream to refuse', () => {
  for (const options of [7, 'x', []]) {
    const request = aRequest({ stream: true, stream_options: options })
    const body = JSON.parse(
      String(chatWith(openai).encode(request, someSettings(), undefined).body),
    ) as object
    assert.deepEqual((body as { stream_options: unknown }).stream_options, options)
  }
})

test('a request without a stream asks for nothing', () => {
  const body = JSON.parse(
    String(chatWith(vllm).encode(aRequest(), someSettings(), undefined).body),
  ) as object
  assert.deepEqual(Object.keys(body), ['model', 'messages'])
})

test('large numbers and unusual spacing survive next to a dropped member', () => {
  const request = aRequestOf(
    '{"user":"u", "seed" : 12345678901234567890,\n"model":"upstream-model","messages":[]}',
  )
  assert.equal(
    String(chatWith(vllm).encode(request, someSettings(), undefined).body),
    '{ "seed" : 12345678901234567890,\n"model":"upstream-model","messages":[]}',
  )
})

test('each kind of content commits, and empty ones do not', () => {
  const reader = chatStream(vllm, aRequest({ stream: true }))
  const isContent = (delta: unknown) =>
    reader.read({ event: '', data: JSON.stringify({ choices: [{ index: 0, delta }] }) }).content
  for (const delta of [
    { content: 'x' },
    { content: [{ type: 'text', text: 'x' }] },
    { reasoning: 'x' },
    { reasoning_content: 'x' },
    { refusal: 'x' },
    { tool_calls: [{ index: 0 }] },
    { function_call: { name: 'f' } },
    { audio: { id: 'a' } },
  ]) {
    assert.equal(isContent(delta), true, JSON.stringify(delta))
  }
  for (const delta of [
    {},
    null,
    { role: 'assistant', content: '' },
    { content: null, refusal: null, tool_calls: [], function_call: null, audio: {} },
    { content: 7, reasoning: {} },
  ]) {
    assert.equal(isContent(delta), false, JSON.stringify(delta))
  }
})

test('a reader without repairs reads an event the same way, regardless of the events before it', () => {
  const events = [
    '{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}',
    '{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":null}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    '{"error":{"message":"m","code":500}}',
    '[DONE]',
  ]
  for (const provider of [openai, vllm, sglang]) {
    const request = aRequest({ stream: true })
    assert.ok(chatStream(provider, request).skim)
    const alone = events.map((data) => chatStream(provider, request).read({ event: '', data }))
    const reader = chatStream(provider, request)
    assert.deepEqual(
      events.map((data) => reader.read({ event: '', data })),
      alone,
    )
  }
  assert.equal(chatStream(triton, aRequest({ stream: true })).skim, undefined)
})

test('a whole answer that is not JSON is a failure, wherever it is broken', () => {
  const good = '{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":1}}'
  const request = aRequest()
  assert.equal(chatWith(openai).decode(Buffer.from(good), request).kind, 'body')
  const broken = [
    good.replace('"a"', '"a" b'),
    good.replace('"a"', "'a'"),
    good.replace('}}]', '}]'),
    good.replace('{"message"', '{message'),
    good.replace(':1', ':01'),
    `${good}x`,
    `${good}${good}`,
  ]
  for (const text of broken) {
    const answer = chatWith(openai).decode(Buffer.from(text), request)
    assert.equal(answer.kind === 'failure' && answer.failure.class, 'malformed', text)
  }
})

test('the usage key is removed, at any place and in any spelling', () => {
  const reader = chatStream(vllm, aRequest({ stream: true }))
  const out = (data: string) => reader.read({ event: '', data }).out
  const kept = '{"choices":[{"index":0,"delta":{"content":"x"}}]}'
  assert.equal(out(`{"usage":null,${kept.slice(1)}`), eventOf(kept))
  assert.equal(out(`${kept.slice(0, -1)}, "usage" : null }`), eventOf(kept))
  assert.equal(out(`${kept.slice(0, -1)},"usage":{"prompt_tokens":1}}`), eventOf(kept))
  assert.equal(
    out('{"choices":[{"delta":{"a":1,"usage":null}}],"usage":null}'),
    eventOf('{"choices":[{"delta":{"a":1,"usage":null}}]}'),
  )
  assert.equal(out(kept), 'same')
  assert.equal(out('{"choices":[]}'), 'same')
})

test('events without choices pass, except verdicts if a provider sends them', () => {
  const data = '{"choices":[],"prompt_filter_results":[]}'
  for (const [provider, out] of [
    [openai, 'same'],
    [azure_openai, ''],
  ] as const) {
    assert.equal(chatStream(provider, aRequest()).read({ event: '', data }).out, out)
  }
})

test('usage is read totally: no number of an upstream throws or gives a senseless result', () => {
  const number = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.integer(), fc.double())
  const details = fc.record({ cached_tokens: number, reasoning_tokens: number })
  const usage = fc.record(
    {
      prompt_tokens: number,
      completion_tokens: number,
      prompt_tokens_details: details,
      completion_tokens_details: details,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(usage, (counts) => {
      const data = JSON.stringify({ choices: [], usage: counts })
      const read = chatStream(sglang, aRequest({ stream: true })).read({ event: '', data }).usage
      if (read === undefined) return
      const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = read
      for (const count of [promptTokens, completionTokens, cachedTokens, reasoningTokens]) {
        assert.ok(Number.isSafeInteger(count) && count >= 0)
      }
      assert.ok(cachedTokens <= promptTokens && reasoningTokens <= completionTokens)
    }),
  )
})

test('tokens that were written into a cache are read, within the prompt', () => {
  const written = (count: number) => {
    const usage = { prompt_tokens: 90, prompt_tokens_details: { cache_write_tokens: count } }
    const data = JSON.stringify({ choices: [], usage })
    return chatStream(openai, aRequest({ stream: true })).read({ event: '', data }).usage
  }
  assert.equal(written(60)?.cacheWriteTokens, 60)
  assert.equal(written(100)?.cacheWriteTokens, 90)
})

test('an event with the name error is one, in any form', () => {
  const reader = chatStream(vllm, aRequest({ stream: true }))
  const meaning = reader.read({ event: 'error', data: '{"message":"m","code":503}' })
  assert.deepEqual([meaning.failure?.class, meaning.out], ['overloaded', ''])
})

const NAMED = [...PROVIDERS.values()].filter(
  (one) => one.operations.chat?.sameWire?.wire === 'openai-chat',
)

test('reasoning has one name for clients, with every runtime, whole and in streams', () => {
  assert.ok(NAMED.length >= 6)
  for (const provider of NAMED) {
    for (const others of [{}, { reasoning_content: null }]) {
      const said = { role: 'assistant', content: 'Hi', ...others, reasoning: 'Hm' }
      const answer = { id: 'a', model: 'm', choices: [{ message: said, finish_reason: 'stop' }] }
      const whole = chatWith(provider).decode(Buffer.from(JSON.stringify(answer)), aRequest())
      assert.ok(whole.kind === 'body', provider.name)
      const { message } = JSON.parse(String(whole.body)).choices[0]
      assert.equal(message.reasoning_content, 'Hm', provider.name)
      assert.equal('reasoning' in message, false, provider.name)
      const delta = { ...others, reasoning: 'Hm' }
      const data = JSON.stringify({ id: 'a', choices: [{ index: 0, delta, finish_reason: null }] })
      const reader = chatStream(provider, aRequest({ stream: true }))
      const frames = Buffer.from(eventOf(data))
      assert.equal(reader.skim?.(frames, new Meter().begin('up', 'm')), undefined, provider.name)
      const { out, content } = reader.read({ event: '', data })
      assert.equal(content, true, provider.name)
      assert.equal(JSON.parse(out.slice(6)).choices[0].delta.reasoning_content, 'Hm')
    }
  }
})

test("llama.cpp's timings reach a client that requested no usage, even if its end comes in any form", () => {
  const finish = { id: 'a', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const timed = { id: 'a', choices: [], usage, timings: { predicted_n: 1 } }
  const texts = (events: readonly string[]) => {
    const reader = chatStream(llamacpp, aRequest({ stream: true }))
    const outs = events.map((data) => reader.read({ event: '', data }).out)
    assert.equal(outs.includes('same'), false)
    return outs.join('') + reader.end(undefined)
  }
  const end = 'data: [DONE]\n\n'
  const bare = eventOf(JSON.stringify(finish))
  const merged = eventOf(JSON.stringify({ ...finish, timings: timed.timings }))
  const [one, two] = [JSON.stringify(finish), JSON.stringify(timed)]
  assert.equal(texts([one, two, '[DONE]'].slice(0, 2)), merged + end)
  assert.equal(texts([one]), bare + end)
  assert.equal(texts([one, '[DONE]']), bare + end)
})

test('details of the usage are where OpenAI has them, whole and in streams', () => {
  const counts = { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 }
  for (const [provider, beside, shown] of [
    [
      sglang,
      { usage: { ...counts, reasoning_tokens: 4 } },
      { ...counts, completion_tokens_details: { reasoning_tokens: 4 } },
    ],
    [
      llamacpp,
      { usage: counts, timings: { cache_n: 5 } },
      { ...counts, prompt_tokens_details: { cached_tokens: 5 } },
    ],
    [vllm, { usage: counts, timings: {} }, counts],
  ] as const) {
    const message = { role: 'assistant', content: 'Hi' }
    const answer = { id: 'a', choices: [{ index: 0, message, finish_reason: 'stop' }], ...beside }
    const whole = chatWith(provider).decode(Buffer.from(JSON.stringify(answer)), aRequest())
    assert.ok(whole.kind === 'body', provider.name)
    assert.deepEqual(JSON.parse(String(whole.body)).usage, shown, provider.name)
    const reader = chatStream(
      provider,
      aRequest({ stream: true, stream_options: { include_usage: true } }),
    )
    const data = JSON.stringify({ id: 'a', choices: [], ...beside })
    const { out, usage } = reader.read({ event: '', data })
    const text = out === 'same' ? data : out.slice('data: '.length)
    assert.deepEqual(JSON.parse(text).usage, shown, provider.name)
    assert.deepEqual([usage?.promptTokens, usage?.completionTokens], [9, 7])
  }
})
