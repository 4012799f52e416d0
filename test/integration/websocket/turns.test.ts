/**
 * Responses over a WebSocket, message by message: each is limited, answered and recorded like a
 * POST.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, beforeEach, test } from 'node:test'
import OpenAI from 'openai'
import type { ResponsesServerEvent } from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { parse, stringify } from 'yaml'
import { aKey } from '../../helpers/a-key.ts'
import { callChunk, chunks } from '../../helpers/chat-chunks.ts'
import { textFrame } from '../../helpers/client-frames.ts'
import {
  failing,
  type Reply,
  startFront,
  startUpstream,
  streaming,
} from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { open, type RawClient, refused } from './raw-client.ts'

const mine = aKey({ id: 'mine' })
const lister = aKey({ id: 'lister', scopes: ['models:list'] })
const poor = aKey({ id: 'poor', tenant: 'poor' })
const [model, own] = await Promise.all([startUpstream(), startUpstream()])
own.vendor = { takesAll: 'Its items are those of the test.' }
const front = await startFront({
  upstreams: [
    { name: 'model', endpoint: model.url },
    { name: 'own', endpoint: own.url, native: ['responses'] },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'model' },
    { name: 'own', strategy: 'single', primary: 'own' },
  ],
  budgets: [{ tenant: 'poor', tokens_per_day: 10 }],
  api_keys: [mine.record, lister.record, poor.record],
})
const opened: RawClient[] = []
after(async () => {
  for (const { socket } of opened) socket.destroy()
  await Promise.all([front.process.stop(), model.close(), own.close()])
})

const { url } = front.process
const bearer = ({ key }: { readonly key: string }) => ({ authorization: `Bearer ${key}` })

async function connected(one: { readonly key: string } = mine): Promise<RawClient> {
  const client = await open({ url, headers: bearer(one) })
  opened.push(client)
  return client
}

beforeEach(() => {
  for (const upstream of [model, own]) {
    upstream.asked.length = 0
    upstream.script.length = 0
  }
  model.reply = streaming()
})

const question = { model: 'chat', input: 'hi' }
const TOOL = { type: 'function', name: 'look', parameters: { type: 'object' } } as const

/** The events that the official client gets until a response has completed. */
async function heardBy(ws: ResponsesWS, asked: object): Promise<ResponsesServerEvent[]> {
  const events: ResponsesServerEvent[] = []
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const take = (event: ResponsesServerEvent) => {
    events.push(event)
    if (event.type === 'response.completed') resolve()
  }
  ws.on('event', take).once('error', reject)
  ws.send({ type: 'response.create', ...question, ...asked })
  await over
  ws.off('event', take)
  return events
}

test("OpenAI's own client gets a text, then calls a tool and continues from the call", async () => {
  const client = new OpenAI({ apiKey: mine.key, baseURL: `${url}/v1` })
  const ws = new ResponsesWS(client)
  try {
    const first = await heardBy(ws, { instructions: 'Be brief.' })
    const [created, last] = [first[0], first.at(-1)]
    assert.ok(created?.type === 'response.created' && last?.type === 'response.completed')
    assert.equal(created.response.id, last.response.id)
    assert.equal(last.response.usage?.total_tokens, 10)
    assert.deepEqual(
      first.map((event) => 'sequence_number' in event && event.sequence_number),
      first.map((_, index) => index),
    )
    model.script.push(
      chunks(callChunk(0, { name: 'look', arguments: '{"a":1}' }, 'call_1'), 'tool_calls'),
    )
    const second = await heardBy(ws, {
      previous_response_id: last.response.id,
      input: [{ role: 'user', content: 'look' }],
      tools: [TOOL],
    })
    const call = second.at(-1)
    assert.ok(call?.type === 'response.completed')
    assert.equal(call.response.previous_response_id, last.response.id)
    assert.equal(call.response.output[0]?.type, 'function_call')
    await heardBy(ws, {
      previous_response_id: call.response.id,
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'seen' }],
      tools: [TOOL],
    })
  } finally {
    ws.close()
  }
  assert.deepEqual(model.asked.at(-1)?.body.messages, [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: 'look' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
  ])
  assert.equal(model.asked.at(-1)?.body.stream, true)
})

test('each turn has a request id, limits, a log line and its own usage', async () => {
  const client = await connected()
  const before = await front.value('gw_requests_total{route="chat",upstream="model",status="200"}')
  const facts = []
  for (const _ of [1, 2]) {
    const [created] = await client.turn(question)
    facts.push(created?.headers)
  }
  assert.notEqual(facts[0]['x-request-id'], facts[1]['x-request-id'])
  for (const fact of facts) {
    assert.equal(fact['x-gw-route'], 'chat')
    assert.equal(fact['x-gw-upstream'], 'model')
    assert.ok(Number(fact['x-ratelimit-remaining-requests']) > 0)
    const ofTurn = (line: { request_id?: unknown }) => line.request_id === fact['x-request-id']
    await until('the turn is logged', () => front.logged('request').some(ofTurn))
    assert.partialDeepStrictEqual(front.logged('request').find(ofTurn), {
      method: 'GET',
      path: '/v1/responses',
      tenant: 'acme',
      key: 'mine',
      route: 'chat',
      status: 200,
      prompt_tokens: 7,
      completion_tokens: 3,
    })
    const trace = await front.admin(`/traces/${fact['x-request-id']}`)
    assert.equal(trace.attempts.length, 1)
  }
  assert.equal(
    await front.value('gw_requests_total{route="chat",upstream="model",status="200"}'),
    before + 2,
  )
  assert.equal(client.headers['x-gw-route'], 'none')
  const line = front
    .logged('request')
    .find(({ request_id }) => request_id === client.headers['x-request-id'])
  assert.equal(line?.status, 101)
})

test('a key revoked between two turns ends the next one as HTTP would, and the connection stays open', async () => {
  const client = await connected()
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
  const { configFile } = front.process
  const written = await readFile(configFile, 'utf8')
  const document = parse(written)
  const revoked_at = '2026-01-01T00:00:00Z'
  document.gw.api_keys[0] = { ...document.gw.api_keys[0], revoked_at }
  const reloads = () => front.value('gw_config_reload_total{result="success"}')
  const before = await reloads()
  await writeFile(configFile, stringify(document))
  await until('the key is revoked', async () => (await reloads()) > before)
  const [error, ...more] = await client.turn(question)
  assert.equal(more.length, 0)
  assert.partialDeepStrictEqual(error, {
    type: 'error',
    status: 401,
    error: {
      type: 'authentication_error',
      code: 'ERR_GW_AUTH_INVALID_KEY',
      openai_code: 'invalid_api_key',
    },
    headers: { 'www-authenticate': 'Bearer', 'x-should-retry': 'false' },
  })
  assert.equal(model.asked.length, 1)
  assert.equal((await refused({ url, headers: bearer(mine) })).status, 401)
  await writeFile(configFile, written)
  await until('the key is restored', async () => (await reloads()) > before + 1)
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
})

test('a budget that a turn has spent ends the next one', async () => {
  const client = await connected(poor)
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
  const [error] = await client.turn(question)
  assert.partialDeepStrictEqual(error, {
    type: 'error',
    status: 402,
    error: { code: 'ERR_GW_BUDGET_EXCEEDED', openai_code: 'insufficient_quota' },
  })
  assert.equal(model.asked.length, 1)
})

test('a failure of every upstream is an event with the HTTP status, and the next turn works', async () => {
  const client = await connected()
  model.script.push(failing(503))
  const [error] = await client.turn(question)
  assert.partialDeepStrictEqual(error, {
    type: 'error',
    status: 502,
    error: { code: 'ERR_GW_UPSTREAM_ERROR' },
  })
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
})

test('a second message during a response is refused, and the response continues', async () => {
  const client = await connected()
  const { promise: hold, resolve: goOn } = Promise.withResolvers<void>()
  model.script.push(streaming({ hold }))
  client.create(question)
  await client.event('response.output_text.delta')
  client.create(question)
  const error = await client.event('error')
  assert.partialDeepStrictEqual(error, { status: 400, error: { type: 'invalid_request_error' } })
  assert.match(error.error.message, /A response is under way on this connection/)
  goOn()
  const last = await client.event('response.completed')
  assert.equal(last.response.output[0].content[0].text, 'hello')
  assert.equal(model.asked.length, 1)
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
})

test('a message can continue only the last response of the connection', async () => {
  const client = await connected()
  const id = (await client.turn(question)).at(-1)?.response.id
  const other = await connected()
  for (const [one, previous] of [
    [other, id],
    [client, 'resp_other'],
  ] as const) {
    const [error] = await one.turn({ ...question, previous_response_id: previous, stream_id: 'a' })
    assert.partialDeepStrictEqual(error, {
      status: 400,
      stream_id: 'a',
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    })
  }
  // A refused turn keeps the last response.
  const again = await client.turn({ ...question, previous_response_id: id })
  assert.equal(again.at(-1)?.type, 'response.completed')
})

test('a message that prepares a conversation calls no model, and the next message continues from it', async () => {
  const client = await connected()
  const prepared = await client.turn({
    model: 'chat',
    generate: false,
    tools: [TOOL],
    input: [{ role: 'developer', content: 'Be brief.' }],
  })
  assert.deepEqual(
    prepared.map(({ type }) => type),
    ['response.created', 'response.in_progress', 'response.completed'],
  )
  assert.equal(model.asked.length, 0)
  const last = prepared.at(-1)?.response
  assert.deepEqual([last.output, last.usage.total_tokens], [[], 0])
  await client.turn({ ...question, previous_response_id: last.id })
  assert.deepEqual(model.asked[0]?.body.messages, [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'hi' },
  ])
  const empty = await client.turn({ model: 'chat', generate: false, input: [], tools: [] })
  assert.equal(empty.at(-1)?.type, 'response.completed')
})

/** A response of an upstream that supports responses. */
function ofOwn(output: readonly object[], members: object = {}): Reply {
  const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 }
  const response = {
    id: 'resp_own',
    object: 'response',
    status: 'completed',
    output,
    usage,
    ...members,
  }
  const events: readonly (readonly [string, object])[] = [
    ['response.created', { response: { ...response, status: 'in_progress', output: [] } }],
    ...output.map(
      (item, output_index) => ['response.output_item.done', { output_index, item }] as const,
    ),
    ['response.completed', { response }],
  ]
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [index, [type, more]] of events.entries())
      outgoing.write(
        `event: ${type}\r\ndata: ${JSON.stringify({ type, sequence_number: index, ...more })}\r\n\r\n`,
      )
    outgoing.end()
  }
}

test('an upstream that supports responses gets the whole conversation, without members that only its memory could resolve', async () => {
  const client = await connected()
  const said = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'hello' }],
  }
  const sealed = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'sealed' }
  own.script.push(
    ofOwn([{ type: 'reasoning', id: 'rs_1', summary: [] }, sealed, { id: 'msg_1', ...said }]),
    ofOwn([{ id: 'msg_2', ...said }]),
  )
  const asked = { model: 'own', store: false, input: [{ role: 'user', content: 'hi', size: 1.0 }] }
  const [created, ...more] = await client.turn(asked)
  const id = created?.response.id
  assert.match(id, /^resp_[0-9a-f]{32}$/)
  assert.equal(more.at(-1)?.response.id, id)
  const next = await client.turn({ ...asked, input: 'more', previous_response_id: id })
  assert.equal(next.at(-1)?.response.previous_response_id, id)
  const { input, previous_response_id, stream, store } = own.asked[1]?.body ?? {}
  assert.deepEqual([previous_response_id, stream, store], [undefined, true, false])
  assert.deepEqual(input, [
    ...asked.input,
    sealed,
    said,
    { type: 'message', role: 'user', content: 'more' },
  ])
})

test('a stored response is continued by the upstream that stores it', async () => {
  const client = await connected()
  own.script.push(ofOwn([{ type: 'message', id: 'msg_1' }]), ofOwn([]))
  const asked = { model: 'own', input: 'hi', store: true }
  const id = (await client.turn(asked)).at(-1)?.response.id
  assert.match(id, /^resp_gw/)
  const next = await client.turn({ ...asked, input: 'more', previous_response_id: id })
  assert.equal(next.at(-1)?.type, 'response.completed')
  assert.partialDeepStrictEqual(own.asked[1]?.body, {
    input: 'more',
    previous_response_id: 'resp_own',
  })
})

test('the name of a stream is returned in every event of its turn', async () => {
  const client = await connected()
  const events = await client.turn({ ...question, stream_id: 'main' })
  assert.ok(events.every(({ stream_id }) => stream_id === 'main'))
  const [error] = await client.turn({ ...question, stream_id: 'a b' })
  assert.equal(error?.error.code, 'invalid_stream_id')
})

const WRONG: Readonly<Record<string, readonly [message: object, param: string | null]>> = {
  'another type': [{ type: 'response.steer', input: 'x' }, 'type'],
  'no type': [{ type: undefined }, 'type'],
  'no model': [{ model: undefined }, 'model'],
  background: [{ background: true }, 'background'],
  'a generate that is not a flag': [{ generate: 1 }, 'generate'],
  'a previous response that is not a text': [{ previous_response_id: 1 }, 'previous_response_id'],
  'no input': [{ input: undefined }, 'input'],
}

test('an invalid message gets a 400 that names the member, and the connection stays open', async () => {
  const client = await connected()
  for (const [name, [members, param]] of Object.entries(WRONG)) {
    const [error] = await client.turn({ ...question, ...members })
    assert.deepEqual([error?.status, error?.error.param], [400, param], name)
  }
  for (const text of ['{"type":', '[]', 'hello', '']) {
    const from = client.events.length
    client.socket.write(textFrame(text))
    assert.equal((await client.event('error', from)).status, 400, text)
  }
  const [unknown] = await client.turn({ ...question, model: 'nowhere' })
  assert.deepEqual([unknown?.status, unknown?.error.openai_code], [404, 'model_not_found'])
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
})

test('a handshake is refused in the words of HTTP', async () => {
  const good = bearer(mine)
  const status = async (headers: Readonly<Record<string, string | undefined>>, path?: string) =>
    (await refused({ url, headers: { ...good, ...headers }, ...(path && { path }) })).status
  assert.equal(await status({ authorization: 'Bearer gw_test_wrong' }), 401)
  assert.equal(await status({ authorization: undefined }), 401)
  assert.equal(await status(bearer(lister)), 403)
  assert.equal(await status({ origin: 'https://evil.example' }), 403)
  assert.equal(await status({ 'sec-websocket-key': undefined }), 400)
  assert.equal(await status({}, '/v1/chat/completions'), 426)
  assert.equal(await status({ upgrade: undefined, connection: undefined }), 405)
  const old = await refused({ url, headers: { ...good, 'sec-websocket-version': '8' } })
  assert.equal(old.status, 426)
  assert.equal(old.headers['sec-websocket-version'], '13')
  assert.equal(old.headers.upgrade, 'websocket')
})

test('the paths that base URLs produce also open a WebSocket, with their model', async () => {
  for (const path of ['/responses', '/v1/responses/', '/openai/v1/responses?api-version=preview']) {
    const client = await open({ url, path, headers: bearer(mine) })
    assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed', path)
    client.socket.destroy()
  }
  const path = '/openai/deployments/chat/responses'
  const client = await open({ url, path, headers: { 'api-key': mine.key } })
  assert.equal((await client.turn({ input: 'hi' })).at(-1)?.type, 'response.completed')
  client.socket.destroy()
})
