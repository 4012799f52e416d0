/**
 * Secrets and prompts planted in every possible input: no output of the gateway may contain one of
 * them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import { startFakeUpstream } from './hostile/fake-upstream.ts'
import { CHAT_BODY, chatBytes } from './hostile/front.ts'
import { RawSocket } from './hostile/raw-socket.ts'

const CANARY = 'canary'
const FROM_ENV = `sk-${CANARY}-env-4f2a91c07be35d68`
const FROM_FILE = `sk-${CANARY}-file-91c07be35d684f2a`
const PROMPT = `${CANARY}-prompt-words`
const HEADER = `${CANARY}-header-value`
const folder = await mkdtemp(join(tmpdir(), 'gw-secrets-'))
const file = join(folder, 'credential')
await writeFile(file, `${FROM_FILE}\n`)

const upstream = await startFakeUpstream()
const { key, record } = aKey({ id: 'client' })
const env = { SECRETS_CREDENTIAL: FROM_ENV }
const config = {
  apiVersion: 'inference.gw/v1',
  kind: 'GatewayConfig',
  gw: {
    upstreams: [
      anUpstream('by-env', '${env:SECRETS_CREDENTIAL}'),
      anUpstream('by-file', `\${file:${file}}`),
    ],
    routes: [
      { name: 'env', strategy: 'single', primary: 'by-env' },
      { name: 'file', strategy: 'single', primary: 'by-file' },
    ],
    api_keys: [record],
  },
}
const gateway = await startGateway({ config, env })
after(async () => {
  await gateway.stop()
  await upstream.close()
  await rm(folder, { recursive: true })
})

/** All output of the gateway, by where it appeared. */
const emitted = new Map<string, string>()
const CREDENTIALS = { env: FROM_ENV, file: FROM_FILE }

function anUpstream(name: string, credential: string) {
  return {
    name,
    provider: 'openai',
    endpoint: upstream.url,
    model: 'served',
    api_key: credential,
    circuit_breaker: { failure_threshold: 1000 },
  }
}

/** Prompts belong to the client, so only output that other parties can see is searched for them. */
function clean(where: string, text: string, secrets: readonly string[]): void {
  for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} in ${where}: ${text}`)
}

async function send(model: string, stream = false, headers: Readonly<Record<string, string>> = {}) {
  const body = { model, stream, messages: [{ role: 'user', content: PROMPT }], user: HEADER }
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text().catch((error: Error) => error.message)
  return { status: response.status, text: JSON.stringify([...response.headers]) + text }
}

const WORD = 'data: {"choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'
const WAYS = ['message', 'param', 'code', 'type', 'plain text', 'HTML'] as const

/** An error that repeats the upstream's request, as careless proxies do. */
function careless(way: (typeof WAYS)[number], credential: string): string {
  if (way === 'plain text') return `Unauthorized: Bearer ${credential}`
  if (way === 'HTML') return `<html><body>Bad key ${credential}, ${credential}</body></html>`
  const error = { message: 'wrong', type: 'invalid_request_error', param: null, code: null }
  return JSON.stringify({ error: { ...error, [way]: `Key ${credential} is wrong` } })
}

for (const [model, credential] of Object.entries(CREDENTIALS)) {
  for (const status of [400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503]) {
    for (const way of WAYS) {
      test(`an upstream's ${status} that repeats our credential (${model}, ${way}) does not reveal it`, async () => {
        upstream.reply = (_asked, outgoing) => {
          const type = way === 'HTML' ? 'text/html' : 'application/json'
          outgoing.writeHead(status, { 'content-type': type, 'www-authenticate': credential })
          outgoing.end(careless(way, credential))
        }
        for (const stream of [false, true]) {
          const answer = await send(model, stream, { 'x-canary': HEADER, cookie: HEADER })
          assert.ok(answer.status >= 400)
          clean('an error', answer.text, [FROM_ENV, FROM_FILE, key, HEADER, PROMPT])
        }
      })
    }
  }

  test(`an error event before content that repeats our credential (${model}) does not reveal it`, async () => {
    upstream.reply = (_asked, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.end(`data: ${careless('message', credential)}\n\n`)
    }
    const { text } = await send(model, true)
    clean('an error event', text, [FROM_ENV, FROM_FILE, key])
  })

  test(`an error event after content that repeats our credential (${model}) does not reveal it`, async () => {
    const heard = Promise.withResolvers<void>()
    upstream.reply = (_asked, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(WORD)
      void heard.promise.then(() => outgoing.end(`data: ${careless('message', credential)}\n\n`))
    }
    const body = CHAT_BODY.replace('"chat"', `"${model}","stream":true`)
    const headers = ['Host: a', `Authorization: Bearer ${key}`, 'Content-Type: application/json']
    const socket = new RawSocket(gateway.url)
    socket.send(chatBytes({ headers: [...headers, `Content-Length: ${body.length}`], body }))
    assert.ok(await socket.until(() => socket.heard.includes('word')))
    heard.resolve()
    assert.ok(await socket.closes())
    assert.match(socket.heard, /ERR_GW_STREAM_ABORTED/)
    clean('an error event', socket.heard, [FROM_ENV, FROM_FILE, key])
  })

  test(`a 200 that is an error with our credential (${model}) does not reveal it`, async () => {
    upstream.reply = (_asked, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(careless('message', credential))
    }
    clean('an answer', (await send(model)).text, [FROM_ENV, FROM_FILE, key])
  })
}

test('refusals of the gateway repeat no key, header or prompt', async () => {
  const wrong = `${key}wrong`
  for (const authorization of [`Bearer ${wrong}`, wrong, `Basic ${wrong}`]) {
    clean('a 401', (await send('env', false, { authorization })).text, [key, PROMPT])
  }
  clean('two keys', (await send('env', false, { 'x-api-key': wrong })).text, [key, PROMPT])
  clean('a 404', (await send('none')).text, [key, PROMPT])
  const body = CHAT_BODY.replace('hi', PROMPT).replace('}]', '}')
  const raws = [
    chatBytes({
      headers: [
        'Host: a',
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      ],
      body,
    }),
    `GET /?key=${key} HTTP/1.1\r\nHost: a\r\nX-Bad\0: ${HEADER}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: ${HEADER}/x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  ]
  for (const bytes of raws) {
    const socket = new RawSocket(gateway.url)
    socket.send(bytes)
    assert.ok(await socket.until(() => socket.answers.length === 1))
    socket.leave()
    // A parser's error may quote the text that it could not read; only the client that wrote it
    // sees it.
    clean('a refusal', socket.heard, [key, HEADER])
  }
})

test('the echo of headers shows only the beginning of a key', async () => {
  const response = await fetch(`${gateway.url}/v1/debug/echo-headers`, {
    headers: { authorization: `Bearer ${key}`, cookie: `session=${FROM_ENV}`, 'x-api-key': key },
  })
  clean('the echo', await response.text(), [key, key.slice(-20), FROM_ENV])
})

test('no output for operators contains a secret, a prompt or a header', async () => {
  for (const path of [
    '/status',
    '/config',
    '/traces?limit=1000',
    '/explain',
    '/explain?model=env',
    '/traces/none',
  ]) {
    const { adminUrl, adminHeaders: headers } = gateway
    emitted.set(path, await (await fetch(adminUrl + path, { headers })).text())
  }
  const { traces } = JSON.parse(emitted.get('/traces?limit=1000') ?? '{}')
  assert.ok(traces.length > 100)
  emitted.set('/metrics', await (await fetch(`${gateway.metricsUrl}/metrics`)).text())
  const document = parse(await readFile(gateway.configFile, 'utf8'))
  emitted.set('a bad PUT', await put({ ...document, gw: { ...document.gw, unknown: 1 } }))
  emitted.set('a good PUT', await put(document))
  const last = traces[0].request_id
  await until('the log is written', () => gateway.output().includes(last))
  emitted.set('the log', gateway.output())
  const secrets = [FROM_ENV, FROM_FILE, key, PROMPT, HEADER]
  for (const [where, text] of emitted) {
    assert.notEqual(text, '', where)
    clean(where, text, where.endsWith('PUT') ? secrets : [...secrets, CANARY])
  }
})

async function put(document: unknown): Promise<string> {
  const response = await fetch(`${gateway.adminUrl}/config`, {
    method: 'PUT',
    headers: gateway.adminHeaders,
    body: stringify(document),
  })
  return response.text()
}

const CLI = join(import.meta.dirname, '../../cli/main.ts')

function gw(...args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env } }
    execFile(process.execPath, [CLI, ...args], options, (_error, out, complaint) =>
      resolve(out + complaint),
    )
  })
}

test('the tool shows and checks a configuration without its secrets', async () => {
  const shown = await gw('config', 'show', '--resolved', '--file', gateway.configFile)
  assert.match(shown, /by-env/)
  clean('config show', shown, [FROM_ENV, FROM_FILE])
  clean('validate', await gw('validate', '--file', gateway.configFile), [FROM_ENV, FROM_FILE])
})

const WRONG: Readonly<Record<string, object>> = {
  'a literal credential': { api_key: FROM_ENV },
  'a credential in an endpoint': { endpoint: `http://user:${FROM_ENV}@127.0.0.1/v1` },
  'a resolved credential as endpoint': { endpoint: '${env:SECRETS_CREDENTIAL}' },
  'a resolved credential as number': { timeout_seconds: '${env:SECRETS_CREDENTIAL}' },
  'a resolved credential as provider': { provider: '${env:SECRETS_CREDENTIAL}' },
  'a resolved credential in a list': { api_key: ['${env:SECRETS_CREDENTIAL}'] },
  'a resolved file as endpoint': { endpoint: `\${file:${file}}` },
}

for (const [what, fields] of Object.entries(WRONG)) {
  test(`the error about ${what} does not repeat it`, async () => {
    const [first, second] = config.gw.upstreams
    const broken = { ...config, gw: { ...config.gw, upstreams: [{ ...first, ...fields }, second] } }
    const path = join(folder, 'broken.yaml')
    await writeFile(path, stringify(broken))
    const complaint = await gw('validate', '--file', path)
    assert.notEqual(complaint, '')
    clean(what, complaint, [FROM_ENV, FROM_FILE])
    clean(what, await put(broken), [FROM_ENV, FROM_FILE])
  })
}
