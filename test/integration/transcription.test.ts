/**
 * POST /v1/audio/transcriptions through a gateway process, between OpenAI's SDK and scripted
 * upstreams.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { startFront } from '../helpers/fake-upstream.ts'

interface Asked {
  readonly path: string
  readonly authorization: string | undefined
  readonly form: FormData
}
type Reply = (outgoing: ServerResponse, form: FormData) => void

/** Reads forms as every browser does. */
async function startListener(reply: Reply) {
  const listener = { url: '', asked: [] as Asked[], script: [] as Reply[], reply, close }
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.method !== 'POST') {
      outgoing.end('ok')
      return
    }
    const bytes = Buffer.concat(await Array.fromAsync<Buffer>(incoming))
    const headers = { 'content-type': String(incoming.headers['content-type']) }
    const form = await new Response(bytes, { headers }).formData()
    const { authorization } = incoming.headers
    listener.asked.push({ path: incoming.url ?? '', authorization, form })
    const answer = listener.script.shift() ?? listener.reply
    answer(outgoing, form)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  listener.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return listener

  async function close() {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
}

const TOKENS = { type: 'tokens', input_tokens: 14, output_tokens: 6, total_tokens: 20 }
const TIMES = '1\n00:00:00,000 --> 00:00:01,000\nhello\n'

function json(outgoing: ServerResponse, body: unknown, status = 200): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify(body))
}

const events = (...all: readonly (object | string)[]) =>
  all.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('')

const DELTA = { type: 'transcript.text.delta', delta: 'hel' }
const DONE = { type: 'transcript.text.done', text: 'hello', usage: TOKENS }

/** As OpenAI's newer models do. */
const hosted: Reply = (outgoing, form) => {
  const format = form.get('response_format')
  if (form.get('stream') === 'true') {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.end(events(DELTA, { ...DELTA, delta: 'lo' }, DONE, '[DONE]'))
  } else if (format === 'srt') outgoing.end(TIMES)
  else if (format === 'verbose_json') json(outgoing, { text: 'hello', duration: 2.5, segments: [] })
  else json(outgoing, { text: 'hello', usage: TOKENS })
}

/** As vLLM does. */
const own: Reply = (outgoing, form) => {
  if (form.get('stream') !== 'true') {
    json(outgoing, { text: 'hello', usage: { type: 'duration', seconds: 3 } })
    return
  }
  const chunk = (content: string) => ({
    object: 'transcription.chunk',
    choices: [{ delta: { content } }],
  })
  const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
  const last = form.get('stream_include_usage') === 'true' ? [{ choices: [], usage }] : []
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.end(events(chunk('hel'), chunk('lo'), ...last, '[DONE]'))
}

const vendor = await startListener(hosted)
const runtime = await startListener(own)
const [endpoint, health_check] = [runtime.url, { path: '/ok' }]
const front = await startFront({
  upstreams: [
    { name: 'hosted', provider: 'openai', endpoint: `${vendor.url}/v1`, model: 'whisper-9' },
    { name: 'own', provider: 'vllm', endpoint, health_check, model: 'tiny' },
    { name: 'talker', provider: 'anthropic', endpoint: vendor.url },
  ],
  routes: [
    { name: 'ears', strategy: 'single', primary: 'hosted' },
    { name: 'local', strategy: 'single', primary: 'own' },
    { name: 'safe', strategy: 'primary_with_fallback', primary: 'own', fallback: ['hosted'] },
    { name: 'words', strategy: 'single', primary: 'talker' },
    { name: 'guarded', strategy: 'single', primary: 'hosted', guardrails: ['judge'] },
  ],
  guardrails: [{ name: 'judge', endpoint: vendor.url }],
  pricing: [{ model: 'whisper-9', input: 10, output: 20 }],
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000 }],
})
after(() => Promise.all([front.process.stop(), vendor.close(), runtime.close()]))

const SOUND = Buffer.from('not really a sound')
const sdk = new OpenAI({ apiKey: front.key, baseURL: `${front.process.url}/v1`, maxRetries: 0 })

const PATH = '/v1/audio/transcriptions'

type Answer = Awaited<ReturnType<typeof send>>

/** A form as it is sent. */
async function send(body: string | Buffer, type = 'multipart/form-data; boundary=own-7') {
  const answer = await fetch(front.process.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': type },
    body: Buffer.from(body),
  })
  const text = await answer.text()
  const { status, headers } = answer
  return { status, headers, text, error: status < 300 ? undefined : JSON.parse(text).error }
}

const part = (name: string, value: string, more = '') =>
  `--own-7\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
const FILE = part('file', 'sound', '; filename="a.wav"')

const form = (...parts: readonly string[]) => `${parts.join('')}--own-7--\r\n`
const asked = (model: string, texts: Readonly<Record<string, string>> = {}) =>
  form(...Object.entries({ model, ...texts }).map(([name, text]) => part(name, text)), FILE)

function refusal({ status, error }: Answer): unknown[] {
  return [status, error?.code, error?.param]
}

test("OpenAI's SDK gets a text, and the upstream gets the recording with its own model's name", async () => {
  const file = await toFile(SOUND, 'a "b" ö.wav', { type: 'audio/wav' })
  const answer = await sdk.audio.transcriptions.create({
    file,
    model: 'ears',
    language: 'en',
    prompt: 'Grüße',
    temperature: 0.2,
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  assert.deepEqual([answer.text, answer.duration], ['hello', 2.5])
  const { path, authorization, form: got } = vendor.asked.at(-1)!
  assert.deepEqual([path, authorization], [PATH, 'Bearer upstream-credential'])
  const sound = got.get('file') as File
  assert.deepEqual(
    [sound.name, sound.type, Buffer.from(await sound.arrayBuffer())],
    [file.name, 'audio/wav', SOUND],
  )
  assert.deepEqual(got.getAll('timestamp_granularities[]'), ['word', 'segment'])
  assert.deepEqual(
    ['model', 'language', 'prompt', 'temperature'].map((name) => got.get(name)),
    ['whisper-9', 'en', 'Grüße', '0.2'],
  )
})

test('subtitles arrive as unchanged text', async () => {
  const { status, headers, text } = await send(asked('ears', { response_format: 'srt' }))
  assert.deepEqual([status, text], [200, TIMES])
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  const plain = await send(asked('local', { response_format: 'text' }))
  assert.deepEqual([plain.status, plain.text], [200, 'hello'])
})

test('streams of either runtime become the same events for a client', async () => {
  for (const model of ['ears', 'local']) {
    const stream = await sdk.audio.transcriptions.create({
      file: await toFile(SOUND, 'a.wav'),
      model,
      stream: true,
    })
    const seen = await Array.fromAsync(stream)
    assert.deepEqual(
      seen.map(({ type }) => type),
      ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done'],
    )
    const last = seen.at(-1)
    assert.equal(last?.type === 'transcript.text.done' && last.text, 'hello')
  }
  const trace = await front.admin('/traces?limit=1')
  assert.match(JSON.stringify(trace), /"prompt_tokens":9,"completion_tokens":2/)
})

test('a stream that breaks off is an error', async () => {
  vendor.script.push((outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.end(events(DELTA))
  })
  const file = await toFile(SOUND, 'a.wav')
  const stream = await sdk.audio.transcriptions.create({ file, model: 'ears', stream: true })
  await assert.rejects(Array.fromAsync(stream))
})

test('if a model answers a stream request with a whole answer, the client gets 400 and is charged', async () => {
  vendor.script.push((outgoing) => json(outgoing, { text: 'hello', usage: TOKENS }))
  const spent = 'gw_budget_tokens_used{tenant="acme",window="day"}'
  const before = await front.value(spent)
  const { text } = await send(asked('ears', { stream: 'true' }))
  assert.match(text, /does not stream transcriptions/)
  assert.equal(await front.value(spent), before + 20)
})

test('tokens are charged as reported, ten for each second of sound, or by the length of the file', async () => {
  const cases = [
    ['ears', {}, 14, 6, undefined],
    ['ears', { response_format: 'verbose_json' }, 25, 0, undefined],
    ['local', {}, 30, 0, undefined],
    ['ears', { response_format: 'srt' }, 1, 0, true],
  ] as const
  for (const [model, texts, prompt, completion, estimated] of cases) {
    const { headers } = await send(asked(model, texts))
    const trace = await front.admin(`/traces/${headers.get('x-request-id')}`)
    assert.deepEqual(
      [trace.operation, trace.prompt_tokens, trace.completion_tokens, trace.usage_estimated],
      ['transcription', prompt, completion, estimated],
    )
    // 10 and 20 dollars for a million tokens.
    const cost = model === 'ears' ? prompt * 10_000 + completion * 20_000 : 0
    assert.equal(trace.attempts[0].usage.cost_nano_usd, cost)
  }
  const timed =
    'gw_request_duration_seconds_count{route="ears",upstream="hosted",operation="transcription"}'
  assert.ok((await front.value(timed)) > 0)
})

test('the next upstream answers for a failed one, and gets the whole recording', async () => {
  runtime.script.push((outgoing) => json(outgoing, { error: { message: 'Broken.' } }, 500))
  const { status, headers } = await send(asked('safe'))
  assert.deepEqual([status, headers.get('x-gw-upstream')], [200, 'hosted'])
  const sound = vendor.asked.at(-1)!.form.get('file') as File
  assert.equal(await sound.text(), 'sound')
})

test('the model may follow a recording of 20 MB, and 25 MB is the maximum', async () => {
  const large = part('file', 'x'.repeat(20_000_000), '; filename="a.mp3"')
  assert.equal((await send(form(large, part('model', 'ears')))).status, 200)
  const sound = vendor.asked.at(-1)!.form.get('file') as File
  assert.equal(sound.size, 20_000_000)
  const larger = part('file', 'x'.repeat(26_400_000), '; filename="a.mp3"')
  const { status, error } = await send(form(part('model', 'ears'), larger))
  assert.deepEqual([status, error.code], [413, 'ERR_GW_REQUEST_TOO_LARGE'])
})

test('a model before the recording is checked before the recording has arrived', async () => {
  const beginning = `${part('model', 'nothing')}${FILE.slice(0, -7)}${'x'.repeat(2_000)}`
  const outgoing = request(front.process.url + PATH, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${front.key}`,
      'content-type': 'multipart/form-data; boundary=own-7',
      'content-length': 20_000_000,
    },
  })
  outgoing.on('error', () => {})
  outgoing.write(beginning)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  assert.equal(incoming.statusCode, 404)
  outgoing.destroy()
})

test('a form that two servers could read differently is refused, and reaches no upstream', async () => {
  const before = vendor.asked.length
  const model = part('model', 'ears')
  const wrong: readonly (readonly [string, string | null, string?])[] = [
    [form(model, model, FILE), 'model'],
    [form(model, part('Model', 'other'), FILE), 'model'],
    [form(model, FILE, FILE), 'file'],
    [form(model), 'file'],
    [form(model, part('file', '', '; filename="a.wav"')), 'file'],
    [form(FILE), 'model'],
    [form(model, part('stream', 'perhaps'), FILE), 'stream'],
    [form(model, part('response_format', 'words'), FILE), 'response_format'],
    [form(model, part('prompt', 'x'.repeat(70_000)), FILE), null],
    [form(model, part('prompt', 'x', '; filename="p"'), FILE), 'prompt'],
    [form(model, part('file', 'a\n--own-7\nsound', '; filename="a.wav"')), null],
    [form(model, part('a', '', '; name="model"'), FILE), null],
    [form(model, part('a', '', "; name*=utf-8''model"), FILE), null],
    [form(model, part('file', 'a own-7', '; filename="a.wav"')), null],
    [form(...Array(70).fill(model)), null],
    [`preamble\r\n${asked('ears')}`, null],
    [`${asked('ears')}more`, null],
    [asked('ears').slice(0, -8), null],
    [asked('ears'), null, 'multipart/form-data'],
    [asked('ears'), null, 'multipart/form-data; boundary=other'],
    [asked('ears'), null, 'multipart/form-data; boundary=own-7; boundary=c'],
    [asked('ears').replaceAll('\r\n', '\n'), null],
  ]
  for (const [body, param, type] of wrong)
    assert.deepEqual(
      refusal(await send(body, type)),
      [400, 'ERR_GW_INVALID_REQUEST', param],
      body.slice(0, 300),
    )
  const { status } = await send('{"model":"ears"}', 'application/json')
  assert.equal(status, 415)
  assert.equal(vendor.asked.length, before)
})

test('a file name that only some servers read correctly is sent in a form that all read', async () => {
  const file = part('file', 'sound', '; filename="a\\"; name=\\"model.wav"')
  const { status } = await send(form(part('model', 'ears'), file))
  assert.equal(status, 200)
  const sent = vendor.asked.at(-1)!.form
  assert.deepEqual([...sent.keys()], ['model', 'file'])
  assert.equal((sent.get('file') as File).name, 'a_; name=_model.wav')
})

test('parts that would mislead a proxy are left out', async () => {
  await send(asked('ears', { api_base: 'http://elsewhere', api_key: 'k', user: 'u' }))
  assert.deepEqual([...vendor.asked.at(-1)!.form.keys()], ['model', 'user', 'file'])
})

test('a route without an upstream that transcribes refuses with the name of the provider', async () => {
  const answer = await send(asked('words'))
  assert.deepEqual(refusal(answer), [400, 'ERR_GW_INVALID_REQUEST', 'model'])
  assert.match(answer.error.message, /transcription \(anthropic/)
})

test('a route whose guardrails judge texts accepts no recording', async () => {
  const answer = await send(asked('guarded'))
  assert.deepEqual(refusal(answer), [400, 'ERR_GW_INVALID_REQUEST', 'model'])
  assert.match(answer.error.message, /cannot judge a recording/)
})

test('explain predicts the result for a recording', async () => {
  const { verdict } = await front.admin('/explain?model=words&operation=transcription')
  assert.match(JSON.stringify(verdict), /no upstream for transcription/)
  const guarded = await front.admin('/explain?model=guarded&operation=transcription')
  assert.match(JSON.stringify(guarded.verdict), /cannot judge a recording/)
  const question = '/explain?model=ears&operation=transcription&prompt_tokens=600'
  assert.equal((await front.admin(question)).verdict.status, 200)
})
