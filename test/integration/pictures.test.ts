/**
 * A model that generates pictures, through the whole gateway: pictures of megabytes reach OpenAI's
 * SDK, are sent back, and are charged.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { valueBelow } from '../../dataplane/json/values.ts'
import { event, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

const DATA = 'iVBORw0KGgo'.padEnd(3_000_000, 'A')
const URL = `data:image/png;base64,${DATA}`
const USAGE = { promptTokenCount: 7, candidatesTokenCount: 1290, totalTokenCount: 1297 }
const PARTS = [{ text: 'Here: ' }, { inlineData: { mimeType: 'image/png', data: DATA } }]

const painted: Reply = (outgoing, { path }) => {
  const head = { responseId: 'r1', modelVersion: 'painter', usageMetadata: USAGE }
  const answer = (parts: readonly object[], finish = {}) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...finish }],
    ...head,
  })
  const end = { finishReason: 'STOP' }
  if (path.includes('stream')) {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const part of PARTS) outgoing.write(event(answer([part])))
    outgoing.end(event(answer([], end)))
  } else {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(answer(PARTS, end)))
  }
}

/** As OpenRouter does: the picture is in the first event with content. */
const routed: Reply = (outgoing) => {
  const choice = (delta: object, finish: string | null = null) =>
    event({ id: 'c1', choices: [{ index: 0, delta, finish_reason: finish }] })
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.write(choice({ role: 'assistant', content: '' }))
  outgoing.write(choice({ images: [{ type: 'image_url', image_url: { url: URL }, index: 0 }] }))
  outgoing.write(choice({}, 'stop'))
  outgoing.end('data: [DONE]\n\n')
}

const painter = await startUpstream(painted)
const router = await startUpstream(routed)
const front = await startFront({
  upstreams: [
    { name: 'up', provider: 'gemini', endpoint: painter.url, model: 'gemini-2.5-flash-image' },
    { name: 'other', provider: 'gemini', endpoint: painter.url, model: 'gemini-3-pro' },
    { name: 'router', endpoint: router.url, model: 'google/gemini-2.5-flash-image' },
  ],
  routes: [
    { name: 'paint', strategy: 'single', primary: 'up' },
    {
      name: 'other',
      strategy: 'single',
      primary: 'other',
      retry: { max_attempts: 3, initial_delay_ms: 0 },
    },
    { name: 'routed', strategy: 'single', primary: 'router' },
  ],
})
after(() => Promise.all([front.process.stop(), painter.close(), router.close()]))
const openai = new OpenAI({
  apiKey: front.key,
  baseURL: `${front.process.url}/v1`,
  maxRetries: 0,
})
const QUESTION = { role: 'user' as const, content: 'Paint.' }
const ASKED = { model: 'paint', messages: [QUESTION] }

/** The SDK's type lacks the member. */
function imagesIn(message: object): unknown {
  return (message as { images?: unknown }).images
}

/** The parts of a turn in the last request. */
function sentTurn(index: number): unknown {
  return valueBelow(painter.asked.at(-1)?.body, 'contents', index, 'parts')
}

test('a chat completion and its stream have the picture in images, and the client can send it back', async () => {
  const image = { type: 'image_url', image_url: { url: URL }, index: 0 }
  const { choices, usage } = await openai.chat.completions.create({ ...ASKED })
  const [choice = assert.fail()] = choices
  assert.deepEqual([imagesIn(choice.message), usage?.completion_tokens], [[image], 1290])
  const chunks = await Array.fromAsync(
    await openai.chat.completions.create({ ...ASKED, stream: true }),
  )
  assert.deepEqual(
    chunks.flatMap((chunk) => imagesIn(chunk.choices[0]?.delta ?? {}) ?? []),
    [image],
  )
  const again = { role: 'user' as const, content: 'Bluer.' }
  await openai.chat.completions.create({
    model: 'paint',
    messages: [...ASKED.messages, choice.message, again],
  })
  assert.deepEqual(sentTurn(1), PARTS)
})

test('a chat completions stream may begin with a picture of megabytes', async () => {
  const asked = { ...ASKED, model: 'routed', stream: true as const }
  const chunks = await Array.fromAsync(await openai.chat.completions.create(asked))
  const images = chunks.flatMap((chunk) => imagesIn(chunk.choices[0]?.delta ?? {}) ?? [])
  assert.deepEqual(images, [{ type: 'image_url', image_url: { url: URL }, index: 0 }])
  assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
})

test('a response and its stream have the picture as an item, and the client can send it back', async () => {
  const { output } = await openai.responses.create({ model: 'paint', input: 'Paint.' })
  const item = output.find((one) => one.type === 'image_generation_call') ?? assert.fail()
  assert.equal(item.result, DATA)
  const stream = openai.responses.stream({ model: 'paint', input: 'Paint.' })
  const last = await stream.finalResponse()
  const streamed = last.output.find((one) => one.type === 'image_generation_call')
  assert.equal(streamed?.result, DATA)
  const input = [{ role: 'user' as const, content: 'Bluer.' }]
  await openai.responses.create({ model: 'paint', input: [item, ...input] })
  assert.deepEqual(sentTurn(0), PARTS.slice(1))
})

test('/v1/messages has no place for pictures, so requests are refused before they reach the model', async () => {
  const before = painter.asked.length
  const answer = await fetch(`${front.process.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ASKED, max_tokens: 100 }),
  })
  const { error } = (await answer.json()) as { error: { message: string } }
  assert.equal(answer.status, 400)
  assert.match(error.message, /does not support "model".*chat\/completions/)
  assert.equal(painter.asked.length, before)
})

test('a model not known to generate pictures generates once, and later refusals name where to ask', async () => {
  const before = painter.asked.length
  const answer = await fetch(`${front.process.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ASKED, model: 'other', max_tokens: 100 }),
  })
  const { error } = (await answer.json()) as { error: { message: string } }
  assert.match(error.message, /does not support.*chat\/completions/)
  assert.deepEqual([answer.status, painter.asked.length - before], [400, 1])
})
