/**
 * Pictures that a model generates reach the client and come back, and those of users and tools reach each vendor; or a
 * name says why not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../dataplane/json/values.ts'
import { asked, chunksOf, joined, streamed } from '../helpers/conversations/one-answer.ts'
import { bytesOf, UPSTREAMS } from '../helpers/conversations/upstream/index.ts'
import { ORIGIN } from '../helpers/providers/a-request.ts'
import { refusalOf, sentBy } from '../helpers/providers/sent-by.ts'
import type { Vendor } from '../helpers/vendors/index.ts'

const DATA = 'iVBORw0KGgoAAAANSUhEUg=='
const URL = `data:image/png;base64,${DATA}`
const IMAGE = { type: 'image_url', image_url: { url: URL } }
const BODIES = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
}
const PAINTED = { inlineData: { mimeType: 'image/png', data: DATA } }
const PARTS: readonly Json[] = [{ text: 'Here: ' }, PAINTED, PAINTED, { text: '!' }]

type Api = keyof typeof BODIES

function geminiWhole(parts: readonly Json[]): string {
  const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }]
  return JSON.stringify({ candidates, responseId: 'r1', modelVersion: 'painter' })
}

function geminiStream(parts: readonly Json[]): Buffer {
  const events = parts.map((part, at) => {
    const finish = at === parts.length - 1 && { finishReason: 'STOP' }
    const candidates = [{ content: { role: 'model', parts: [part] }, index: 0, ...finish }]
    return JSON.stringify({ candidates, responseId: 'r1' })
  })
  return Buffer.from(events.map((data) => `data: ${data}\n\n`).join(''))
}

/** The whole answer as the client gets it, or the failure. */
function whole(api: Api, provider: string, body: string) {
  const wire = joined(api, provider)
  const request = asked(wire, { model: 'm', ...BODIES[api] })
  const passed = wire.pair.decode(Buffer.from(body), request, ORIGIN)
  if (passed.kind === 'failure') return { failure: passed.failure.message }
  assert.equal(passed.kind, 'body')
  return { answer: JSON.parse(String('body' in passed && passed.body)) }
}

function stream(api: Api, provider: string, bytes: Buffer) {
  const wire = joined(api, provider)
  const request = asked(wire, { model: 'm', stream: true, ...BODIES[api] })
  return streamed(wire, request, bytes, bytes.length - 5)
}

function framed(events: readonly (readonly [string, Json])[]): Buffer {
  return bytesOf(
    'application/vnd.amazon.eventstream',
    events.map(([type, data]) => [type, JSON.stringify(data)]),
  )
}

function eventsOf(text: string) {
  const lines = text.split('\n').filter((line) => /^data: \{/.test(line))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

test('chat: pictures of Gemini are images of the message', () => {
  const { message } = whole('chat', 'gemini', geminiWhole(PARTS)).answer.choices[0]
  assert.equal(message.content, 'Here: !')
  assert.deepEqual(message.images, [
    { ...IMAGE, index: 0 },
    { ...IMAGE, index: 1 },
  ])
})

test('chat: pictures of a stream are images of deltas, each in its place', () => {
  const { text, isWhole } = stream('chat', 'gemini', geminiStream(PARTS))
  const deltas = eventsOf(text).map(({ choices }) => choices[0].delta)
  const said = deltas.flatMap(({ content, images }) => images ?? (content ? [content] : []))
  assert.deepEqual(said, ['Here: ', { ...IMAGE, index: 0 }, { ...IMAGE, index: 1 }, '!'])
  assert.equal(isWhole, true)
})

test('responses: a picture of Gemini is an item with its bytes', () => {
  const { output } = whole('responses', 'gemini', geminiWhole(PARTS)).answer
  assert.deepEqual(
    output.map(({ type, result }: Json) => [type, result]),
    [
      ['message', undefined],
      ['image_generation_call', DATA],
      ['image_generation_call', DATA],
    ],
  )
})

test('responses: a picture of a stream is an item that begins, ends, and is in the whole output', () => {
  const { text, isWhole } = stream('responses', 'gemini', geminiStream(PARTS))
  const events = eventsOf(text)
  const done = events.filter(({ type }) => type === 'response.output_item.done')
  assert.deepEqual(
    done.map(({ output_index: place, item }) => [place, item.type, item.result, item.status]),
    [
      [0, 'message', undefined, 'completed'],
      [1, 'image_generation_call', DATA, 'completed'],
      [2, 'image_generation_call', DATA, 'completed'],
      [3, 'message', undefined, 'completed'],
    ],
  )
  assert.deepEqual(
    events.at(-1).response.output,
    done.map(({ item }) => item),
  )
  const about = events.filter(({ item_id: id }) => id === done[1].item.id).map(({ type }) => type)
  assert.deepEqual(about, [
    'response.image_generation_call.in_progress',
    'response.image_generation_call.completed',
  ])
  assert.equal(isWhole, true)
})

test('responses: a picture between the pieces of a call waits until the call has ended', () => {
  const call = { functionCall: { id: 'c1', name: 'f', args: { a: 1 } } }
  const { text, failure } = stream('responses', 'gemini', geminiStream([call, PAINTED, call]))
  assert.equal(failure, undefined)
  const { output } = eventsOf(text).at(-1).response
  assert.deepEqual(
    output.map(({ type }: Json) => type),
    ['function_call', 'function_call', 'image_generation_call'],
  )
})

test('messages, which cannot hold pictures: a model that generates images is refused before it costs anything', () => {
  for (const model of [
    'gemini-2.5-flash-image',
    'gemini-3-pro-image-preview',
    'publishers/google/models/gemini-2.5-flash-image',
  ])
    assert.equal(refusalOf({ api: 'messages', provider: 'gemini', model }, {}), 'model')
  assert.equal(
    refusalOf({ api: 'messages', provider: 'gemini', model: 'gemini-3-pro' }, {}),
    undefined,
  )
})

for (const api of ['chat', 'responses'] as const)
  test(`${api}: a model that generates images gets the request`, () => {
    const model = 'gemini-2.5-flash-image'
    assert.deepEqual(sentBy({ api, provider: 'gemini', model }, {}).complaints, [])
  })

test('messages: a picture of a model that is not known to paint ends the answer with its reason', () => {
  const reason = /The model answered with a picture, which this API does not support/
  assert.match(String(whole('messages', 'gemini', geminiWhole(PARTS)).failure), reason)
  const came = stream('messages', 'gemini', geminiStream(PARTS))
  assert.match(String(came.failure), reason)
  assert.equal(came.isWhole, false)
})

for (const api of ['chat', 'responses', 'messages'] as const)
  test(`${api}: a recording of the model ends the answer with its reason`, () => {
    const sound = { inlineData: { mimeType: 'audio/L16;rate=24000', data: DATA } }
    assert.match(
      String(whole(api, 'gemini', geminiWhole([sound])).failure),
      /media other than pictures/,
    )
    assert.match(
      String(stream(api, 'gemini', geminiStream([sound])).failure),
      /media other than pictures/,
    )
  })

test('a draft of a picture is a thought of the model, and not part of the answer', () => {
  const parts = [{ ...PAINTED, thought: true }, PAINTED]
  assert.equal(
    whole('chat', 'gemini', geminiWhole(parts)).answer.choices[0].message.images.length,
    1,
  )
})

test('modalities of chat are those of Gemini', () => {
  const config = (model: string, modalities: unknown) =>
    sentBy({ api: 'chat', provider: 'gemini', model }, { modalities }).body.generationConfig
  const painter = 'gemini-2.5-flash-image'
  assert.deepEqual(config(painter, ['text', 'image']).responseModalities, ['TEXT', 'IMAGE'])
  assert.deepEqual(config(painter, ['image']).responseModalities, ['IMAGE'])
  assert.deepEqual(config(painter, ['text']).responseModalities, ['TEXT'])
  assert.equal(config('gemini-2.5-flash', ['text']), undefined)
  const asked = { modalities: ['text', 'audio'] }
  assert.equal(refusalOf({ api: 'chat', provider: 'gemini' }, asked), 'modalities')
})

test('an event with a picture of megabytes is read, and one that is too large is an error', () => {
  const painted = (bytes: number) =>
    geminiStream([{ inlineData: { mimeType: 'image/png', data: 'A'.repeat(bytes) } }])
  for (const api of ['chat', 'responses'] as const) {
    const { text, isWhole } = stream(api, 'gemini', painted(5_000_000))
    assert.ok(isWhole && text.includes('A'.repeat(5_000_000)))
    const large = stream(api, 'gemini', painted(34_000_000))
    assert.match(String(large.failure), /larger than 32 MiB/)
    assert.equal(large.isWhole, false)
  }
})

test("pictures of Bedrock, whole and in the pieces of a stream, are those of the client's API", () => {
  const image = { format: 'png', source: { bytes: DATA } }
  const content = [{ text: 'Here: ' }, { image }]
  const answer = JSON.stringify({ output: { message: { content } }, stopReason: 'end_turn' })
  const { message } = whole('chat', 'bedrock', answer).answer.choices[0]
  assert.deepEqual(message.images, [{ ...IMAGE, index: 0 }])
  const bytes = Buffer.from(DATA, 'base64')
  const pieces = [bytes.subarray(0, 5), bytes.subarray(5)].map((piece) => piece.toString('base64'))
  const events = framed([
    ['messageStart', { role: 'assistant' }],
    ['contentBlockStart', { contentBlockIndex: 0, start: { image: { format: 'png' } } }],
    ...pieces.map((data) => {
      const delta = { image: { source: { bytes: data } } }
      return ['contentBlockDelta', { contentBlockIndex: 0, delta }] as const
    }),
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'end_turn' }],
    ['metadata', { usage: { inputTokens: 1, outputTokens: 2 } }],
  ])
  const { text } = stream('responses', 'bedrock', events)
  assert.equal(eventsOf(text).at(-1).response.output[0].result, DATA)
  assert.match(String(stream('messages', 'bedrock', events).failure), /picture/)
  const sound = JSON.stringify({ output: { message: { content: [{ audio: {} }] } } })
  assert.match(String(whole('chat', 'bedrock', sound).failure), /media other than pictures/)
})

/** The conversation that a client makes from the answer. */
const BACK = {
  chat: (image: Json) => ({
    messages: [
      { role: 'user', content: 'Paint.' },
      { role: 'assistant', content: 'Here.', images: [image] },
      { role: 'user', content: 'Bluer.' },
    ],
  }),
  responses: (_image: Json) => ({
    input: [
      { type: 'message', role: 'user', content: 'Paint.' },
      { type: 'message', role: 'assistant', content: 'Here.' },
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: DATA },
      { type: 'message', role: 'user', content: 'Bluer.' },
    ],
  }),
}

for (const api of ['chat', 'responses'] as const) {
  test(`${api}: a picture that comes back is the model's at Gemini`, () => {
    const way = { api, provider: 'gemini', model: 'gemini-2.5-flash-image' } as const
    const { body, complaints } = sentBy(way, BACK[api](IMAGE))
    assert.deepEqual(body.contents[1], { role: 'model', parts: [{ text: 'Here.' }, PAINTED] })
    assert.deepEqual(complaints, [])
  })

  test(`${api}: a picture that comes back reaches a Gemini that signs with its signature, or a placeholder`, () => {
    const wire = joined(api, 'gemini')
    const request = asked(wire, { model: 'm', ...BODIES[api] })
    request.tenant = 'painter'
    const data = `${DATA.slice(0, -2)}${api === 'chat' ? 'AA' : 'BB'}`
    const signed = { inlineData: { mimeType: 'image/png', data }, thoughtSignature: 'c2ln' }
    const origin = { ...ORIGIN, model: 'gemini-3-pro-image' }
    wire.pair.decode(Buffer.from(geminiWhole([signed])), request, origin)
    const sent = (tenant: string) => {
      const way = { api, provider: 'gemini', model: 'gemini-3-pro-image', tenant } as const
      const text = JSON.stringify(BACK[api](IMAGE)).replace(DATA, data)
      return sentBy(way, JSON.parse(text)).body.contents[1].parts[1].thoughtSignature
    }
    assert.deepEqual(
      [sent('painter'), sent('another')],
      ['c2ln', 'skip_thought_signature_validator'],
    )
  })

  for (const [provider, { models, read }] of Object.entries(UPSTREAMS)) {
    if (provider === 'gemini' || provider === 'deepseek') continue
    test(`${api}: a picture of another model is the user's at ${provider}, or is refused by name`, () => {
      const way = { api, provider: provider as Vendor, model: models[0] ?? '' }
      const refused = refusalOf(way, BACK[api](IMAGE))
      if (provider === 'triton') {
        assert.match(String(refused), /content/)
        return
      }
      assert.equal(refused, undefined)
      const { body, complaints, path } = sentBy(way, BACK[api](IMAGE))
      assert.equal(read(JSON.stringify(body), path).pictures, 1)
      assert.doesNotMatch(JSON.stringify(body), /"role":"assistant"[^}]*"images"/)
      assert.deepEqual(complaints, [])
    })
  }
}

test('chat: the signature of a picture goes to the client and back with it', () => {
  const signed = { ...PAINTED, thoughtSignature: 'c2lnbmVk' }
  const wire = joined('chat', 'gemini')
  const request = asked(wire, { model: 'm', ...BODIES.chat })
  const origin = { ...ORIGIN, model: 'gemini-3-pro-image' }
  const passed = wire.pair.decode(Buffer.from(geminiWhole([signed])), request, origin)
  const { message } = JSON.parse(String('body' in passed && passed.body)).choices[0]
  const messages = [{ role: 'user', content: 'Hi' }, message, { role: 'user', content: 'Bluer.' }]
  const way = { api: 'chat', provider: 'gemini', model: 'gemini-3-pro-image', tenant: 'x' } as const
  const [part] = sentBy(way, { messages }).body.contents[1].parts
  assert.deepEqual(part, signed)
})

test('a picture comes back unchanged to OpenRouter and LiteLLM, which have the same form', () => {
  const way = { api: 'chat', provider: 'openai', model: 'google/gemini-2.5-flash-image' } as const
  assert.deepEqual(sentBy(way, BACK.chat(IMAGE)).body.messages[1].images, [IMAGE])
})

const IMAGES = [{ images: [{ ...IMAGE, index: 0 }] }]

test('images of a server with chat completions are pictures of a response, and fail by name in messages', () => {
  const message = { role: 'assistant', content: '', ...IMAGES[0] }
  const answer = JSON.stringify({
    id: 'a',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  })
  const [item] = whole('responses', 'openai', answer).answer.output
  assert.deepEqual([item.type, item.result], ['image_generation_call', DATA])
  const { text } = stream('responses', 'openai', chunksOf(IMAGES, 'stop'))
  assert.equal(eventsOf(text).at(-1).response.output[0].result, DATA)
  assert.match(String(whole('messages', 'openai', answer).failure), /picture/)
  assert.match(String(stream('messages', 'openai', chunksOf(IMAGES, 'stop')).failure), /picture/)
})

test('an address instead of a picture is text, which each API carries', () => {
  const url = 'https://pictures.example/1.png'
  const deltas = [{ images: [{ type: 'image_url', image_url: { url } }] }]
  for (const api of ['responses', 'messages'] as const)
    assert.match(stream(api, 'openai', chunksOf(deltas, 'stop')).text, /pictures\.example\/1\.png/)
})

test('a stream that begins with a picture has content', () => {
  const wire = joined('chat', 'openai')
  const request = asked(wire, { model: 'm', stream: true, ...BODIES.chat })
  const reader = wire.pair.openStream(request, ORIGIN)
  const chunk = { id: 'a', choices: [{ index: 0, delta: IMAGES[0], finish_reason: null }] }
  assert.equal(reader?.read({ event: '', data: JSON.stringify(chunk) }).content, true)
})

/** A picture in the result of a tool, as each API writes it. */
const RESULTS = {
  chat: {
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'abcdefgh1', type: 'function', function: { name: 'f', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'abcdefgh1', content: [{ type: 'text', text: 'ok' }, IMAGE] },
    ],
  },
  messages: {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'abcdefgh1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'abcdefgh1',
            content: [
              { type: 'text', text: 'ok' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } },
            ],
          },
        ],
      },
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'abcdefgh1', name: 'f', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'abcdefgh1',
        output: [
          { type: 'input_text', text: 'ok' },
          { type: 'input_image', image_url: URL },
        ],
      },
    ],
  },
}

for (const api of ['chat', 'messages', 'responses'] as const)
  for (const [provider, { models, read }] of Object.entries(UPSTREAMS)) {
    if (provider === 'deepseek') continue
    test(`${api}: a picture in the result of a tool reaches ${provider}, or is refused by name`, () => {
      const way = { api, provider: provider as Vendor, model: models[0] ?? '' }
      const refused = refusalOf(way, RESULTS[api])
      if (provider === 'triton' || (provider === 'cohere' && api === 'chat')) {
        assert.match(String(refused), /content/)
        return
      }
      assert.equal(refused, undefined)
      const { body, complaints, path } = sentBy(way, RESULTS[api])
      const { pictures, calls } = read(JSON.stringify(body), path)
      assert.deepEqual([pictures, calls[0]?.result], [1, 'ok'])
      assert.deepEqual(complaints, [])
    })
  }

const PDF = 'data:application/pdf;base64,JVBERi0xLjQgeA=='
const AS_PICTURE = [{ type: 'image_url', image_url: { url: PDF } }]

for (const [provider, document] of Object.entries({
  anthropic: /"type":"document","source":\{"type":"base64","media_type":"application\/pdf"/,
  bedrock: /"document":\{"format":"pdf"/,
  gemini: /"mimeType":"application\/pdf"/,
  mistral: /"type":"document_url","document_url":"data:application\/pdf/,
}))
  test(`a PDF that a client sends as a picture is a document at ${provider}`, () => {
    const messages = [{ role: 'user', content: AS_PICTURE }]
    const { text, complaints } = sentBy({ api: 'chat', provider: provider as Vendor }, { messages })
    assert.match(text, document)
    assert.deepEqual(complaints, [])
  })

test('a PDF that a client sends as a picture is a file in responses', () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const messages = [{ role: 'user', content: AS_PICTURE }]
  const way = { api: 'chat', provider: 'openai', model: 'gpt-5.6' } as const
  const { body } = sentBy(way, { messages, tools, reasoning_effort: 'low' })
  const [part] = body.input[0].content
  assert.deepEqual(part, { type: 'input_file', filename: 'document.pdf', file_data: PDF })
})

test('Anthropic gets only pictures of types that it accepts', () => {
  for (const type of ['image/svg+xml', 'image/bmp', 'image/heic', 'text/plain']) {
    const image = { type: 'image_url', image_url: { url: `data:${type};base64,QUJD` } }
    const messages = [{ role: 'user', content: [image] }]
    const refusal = refusalOf({ api: 'chat', provider: 'anthropic' }, { messages })
    assert.equal(refusal, 'messages.0.content', type)
  }
  const image = {
    type: 'image_url',
    image_url: { url: 'data:image/png;charset=utf-8;base64,QUJD' },
  }
  const { body } = sentBy(
    { api: 'chat', provider: 'anthropic' },
    { messages: [{ role: 'user', content: [image] }] },
  )
  assert.equal(body.messages[0].content[0].source.media_type, 'image/png')
})
