/**
 * A new provider or API takes a folder and one line in an index; a new model takes a row; a new
 * trace field or key member takes two edits.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventsOf, startFront, textOf } from '../helpers/fake-upstream.ts'
import { plant } from '../helpers/toys/edit.ts'
import { KEY_MEMBER } from '../helpers/toys/key-member.ts'
import { MODEL_ROW } from '../helpers/toys/model-row.ts'
import { TRACE_FIELD } from '../helpers/toys/trace-field.ts'
import { until } from '../helpers/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const LEFT_OUT = /\/(node_modules|\.git|\.cache)(\/|$)/
const CREDENTIAL = 'upstream-credential'

const tree = mkdtempSync(join(tmpdir(), 'gw-adding-'))
after(() => rmSync(tree, { recursive: true, force: true }))
cpSync(ROOT, tree, { recursive: true, filter: (path) => !LEFT_OUT.test(path.slice(ROOT.length)) })
symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))

// A test runner inside another one would report to the outer runner.
const { NODE_TEST_CONTEXT: _, ...env } = process.env

function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: tree, env, encoding: 'utf8', stdio: 'pipe' })
}

const gw = (...args: readonly string[]) => run('node', 'cli/gw.js', ...args)
const begin = (kind: string, name: string) => run('node', 'test/templates/new.ts', kind, name)

for (const kind of ['provider', 'api']) {
  begin(kind, 'sample')
  begin(kind, 'toy')
  const folder = join(tree, `dataplane/${kind}s/toy`)
  rmSync(folder, { recursive: true })
  cpSync(join(ROOT, `test/toys/${kind}`), folder, { recursive: true })
}

const indexed = changedSources()
const traceField = plant(tree, TRACE_FIELD)
const keyMember = plant(tree, KEY_MEMBER)
const modelRow = plant(tree, MODEL_ROW)
run('node', 'dataplane/generate.ts')
run('node', 'crds/generate.ts')

const api_keys_file = join(tree, 'keys.yaml')
const created = ['--tenant', 'acme', '--routes', '*', '--toy_owner', 'ann', '-f', api_keys_file]
writeFileSync(api_keys_file, '[]\n')
gw('keys', 'create', '--id', 'owned', ...created)

/** Requests that the collector received. */
const collected: { readonly path: string; readonly bytes: Buffer }[] = []
const upstream = createServer((request, response) => void answer(request, response))
upstream.listen(0, '127.0.0.1')
await once(upstream, 'listening')
const address = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const front = await startFront(
  {
    upstreams: [
      {
        name: 'toy',
        provider: 'toy',
        endpoint: `${address}/v9`,
      },
    ],
    routes: [{ name: 'chat', strategy: 'single', primary: 'toy' }],
    api_keys_file,
    pricing: [{ model: 'served', input: 1, output: 1 }],
    budgets: [{ tenant: 'acme', tokens_per_day: 300 }],
    telemetry: { otlp_endpoint: address, otlp_signals: ['traces', 'logs'], sample_ratio: 1 },
    usage: { sinks: { otlp: {} } },
  },
  { program: join(tree, 'dataplane/main.ts') },
)
after(() => Promise.all([front.process.stop(), upstream.close()]))

test('adding it changes one line of an index and nothing else outside its folder', () => {
  assert.deepEqual(indexed, ['apis/index.ts', 'providers/index.ts'])
  const index = readFileSync(join(tree, 'dataplane/providers/index.ts'), 'utf8')
  assert.equal(index.split('\n').filter((line) => /\btoy\b/.test(line)).length, 2)
})

test('a missing or already used name is refused', () => {
  for (const [kind, name] of [
    ['provider', 'vllm'],
    ['api', 'Upper'],
    ['strategy', 'x'],
    ['provider', ''],
  ] as const) {
    assert.throws(
      () => begin(kind, name),
      /there already|make new-provider NAME=x/,
      `${kind} ${name}`,
    )
  }
})

/** Refuses requests whose signature does not match the received bytes. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await request.toArray())
  const { 'x-toy-signature': signature, 'x-toy-moment': moment, authorization } = request.headers
  const path = String(request.url)
  const text = `POST\n${path}\n${moment}\n`
  const expected = createHmac('sha256', CREDENTIAL).update(text).update(body).digest('hex')
  if (path === '/alive') response.end()
  else if (/^\/v1\/(traces|logs)$/.test(path)) {
    collected.push({ path, bytes: body })
    response.end()
  } else if (authorization || signature !== expected) {
    response.writeHead(401).end()
  } else if (path === '/v9/place?model=served') {
    response.end(
      JSON.stringify({
        places: [
          [1, 2],
          [3, 4],
        ],
        read: 7,
      }),
    )
  } else if (request.headers.accept === 'application/x-toy-frames') {
    response.writeHead(200, { 'content-type': 'application/x-toy-frames' })
    const said = [{ word: 'begin' }, { word: 'hel' }, { word: 'lo' }, { word: 'end' }]
    const frames = Buffer.concat([...said, { read: 5, written: 2 }].map(frame))
    // Cut in the middle of a frame.
    for (const byte of frames) response.write(Buffer.of(byte))
    response.end()
  } else response.end(JSON.stringify({ said: 'hello', read: 5, written: 2 }))
}

function frame(event: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(event))
  const head = Buffer.alloc(4)
  head.writeUInt32BE(text.length)
  return Buffer.concat([head, text])
}

test('binary frames and a signature over the final path are served as chat completions', async () => {
  const whole = await front.chat()
  assert.equal(whole.status, 200)
  assert.equal(JSON.parse(whole.text).choices[0].message.content, 'hello')
  const stream = await front.stream({ stream_options: { include_usage: true } })
  const events = eventsOf(stream)
  const words = events.map((event) => event.choices?.[0]?.delta.content ?? '')
  assert.equal(words.join(''), 'hello')
  assert.equal(events.at(-2).usage.total_tokens, 7)
  assert.equal(events.at(-1), '[DONE]')
  assert.equal((await front.trace(stream)).attempts[0].outcome, 'ok')
})

test('a trace field is declared in one file and set in another, and then appears everywhere', async () => {
  assert.ok(traceField.size <= 3, `${[...traceField]}`)
  const planted = traceField.union(keyMember).union(modelRow)
  const generated = changedSources().filter((file) => !planted.has(`dataplane/${file}`))
  assert.deepEqual(generated, [...indexed, 'telemetry/trace/code.ts'].toSorted())
  const heard = await front.chat()
  const id = String(heard.headers['x-request-id'])
  assert.equal((await front.trace(heard)).toy_note, 'planted')
  await until('its log line is written', () => front.logged('request').some(isOf(id)))
  assert.equal(front.logged('request').find(isOf(id))?.toy_note, 'planted')
  const { adminUrl, adminHeaders } = front.process
  assert.match(gw('trace', 'get', id, '--admin', adminUrl), /note of the toy: planted/)
  const page = await textOf(`${adminUrl}/console/trace-fields.js`, adminHeaders)
  assert.match(page, /\["toy_note","toy"\]/)
  for (const [path, name] of [
    ['/v1/traces', 'POST /v1/chat/completions'],
    ['/v1/logs', 'gw.request'],
    ['/v1/logs', 'gw.usage'],
  ]) {
    const has = (one: (typeof collected)[number]) =>
      one.path === path && one.bytes.includes(String(name)) && one.bytes.includes('gw.toy_note')
    await until(`the collector receives it in ${name}`, () => collected.some(has))
  }
  const docs = readFileSync(join(tree, 'dataplane/docs/tracing.md'), 'utf8')
  assert.match(docs, /^\| `toy_note` \| a toy \| log, span, log record, usage event,/m)
})

test('a model is a row in the folder of its provider, and the page of models repeats it', () => {
  const named = ['dataplane', 'cli', 'operator', 'crds', 'charts'].flatMap((top) =>
    filesBelow(join(tree, top))
      .filter((file) => readFileSync(join(tree, top, file), 'utf8').includes('toy-model'))
      .map((file) => join(top, file)),
  )
  assert.deepEqual(named, ['dataplane/docs/models.md', ...modelRow])
  const file = join(tree, 'toy-model.yaml')
  const upstream = { name: 'up', provider: 'cohere', model: 'toy-model', api_key: '${env:K}' }
  const route = { name: 'chat', strategy: 'single', primary: 'up' }
  const gateway = { upstreams: [upstream], routes: [route] }
  const kinds = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig' }
  writeFileSync(file, JSON.stringify({ ...kinds, gw: gateway }))
  assert.match(gw('config', 'show', '--resolved', '-f', file), /context_window: 12345/)
})

test('a key member is declared in one file, and appears in its resource, document, lists and views', async () => {
  assert.ok(keyMember.size <= 5, `${[...keyMember]}`)
  const written = readFileSync(api_keys_file, 'utf8')
  assert.match(written, /toy_owner: ann/)
  const { keys } = await front.admin('/keys?id=owned')
  assert.equal(keys[0].toy_owner, 'ann')
  const { adminUrl } = front.process
  assert.match(gw('keys', 'list', '-o', 'wide', '--admin', adminUrl), /TOY OWNER.*owned .* ann/s)
  assert.match(
    gw('keys', 'inspect', '--prefix', keys[0].prefix, '-f', api_keys_file),
    /toy owner +ann/,
  )
  assert.match(gw('keys', 'rotate', '--id', 'owned', '-f', api_keys_file), /owned-r2/)
  const listed = JSON.parse(gw('keys', 'list', '-o', 'json', '-f', api_keys_file))
  assert.deepEqual(
    listed.keys.map((key: { id: string; toy_owner: string }) => [key.id, key.toy_owner]),
    [
      ['owned', 'ann'],
      ['owned-r2', 'ann'],
    ],
  )
  const manifest = readFileSync(join(tree, 'crds/manifests/gatewaykeys.yaml'), 'utf8')
  assert.match(manifest, /toyOwner:\n +description: Owner of the key\./)
  const compiled = run('node', '--input-type=module', '-e', COMPILE)
  assert.deepEqual(JSON.parse(compiled), ['ann'])
})

/** The operator turns a GatewayKey into the records of the key document. */
const COMPILE = `
  import { compileKeys } from './operator/compile/compile-keys.ts'
  const spec = { gateway: 'g', tenant: 'acme', routes: ['*'], hash: 'sha256:' + '0'.repeat(64), toyOwner: 'ann' }
  const gateway = { metadata: { name: 'g', namespace: 'n' }, gw: {} }
  const key = { metadata: { name: 'k', namespace: 'n' }, spec }
  const { records } = compileKeys({ gateway, keys: [key], now: 0, keptKeys: [] })
  process.stdout.write(JSON.stringify(records.map((record) => record.toy_owner)))
`

const isOf = (id: string) => (line: Readonly<Record<string, unknown>>) => line.request_id === id

test('a new API is served, traced, charged and limited', async () => {
  const ask = (input: unknown) =>
    fetch(`${front.process.url}/v1/places`, {
      method: 'POST',
      headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', input }),
    })
  const answered = await ask(['one', 'two'])
  const { data, usage } = (await answered.json()) as { data: unknown; usage: unknown }
  assert.deepEqual(data, [
    { object: 'embedding', index: 0, embedding: [1, 2] },
    { object: 'embedding', index: 1, embedding: [3, 4] },
  ])
  assert.deepEqual(usage, { prompt_tokens: 7, total_tokens: 7 })
  const trace = await front.admin(`/traces/${answered.headers.get('x-request-id')}`)
  assert.deepEqual([trace.path, trace.prompt_tokens], ['/v1/places', 7])
  assert.equal(
    await front.value('gw_tokens_total{route="chat",upstream="toy",kind="prompt"}'),
    5 + 5 + 5 + 7,
  )
  let spent = 5 + 2 + 5 + 2 + 5 + 2 + 7
  const wrong = await ask(7)
  assert.match(await wrong.text(), /\\"input\\" must be a text/)
  // The rest of the budget admits the request, and its usage spends that rest.
  while ((await ask('one')).status === 200) spent += 7
  assert.ok(spent >= 300 - 7 && spent < 300 + 7, `${spent} of 300`)
  const refused = await ask('one')
  assert.equal(refused.status, 402)
  assert.match(await refused.text(), /ERR_GW_BUDGET_EXCEEDED/)
})

// Last, because it keeps the upstream above from answering.
test('a plugin created from a template passes the types, conformance and its own tests', () => {
  // The toy's own tests are this file.
  rmSync(join(tree, 'test/dataplane/apis/toy'), { recursive: true })
  run(join(ROOT, 'node_modules/.bin/tsc'), '--noEmit')
  const report = ['--test-reporter=tap']
  const pattern = '--test-name-pattern=^sample: '
  const checked = run('node', '--test', ...report, pattern, 'test/conformance/providers.test.ts')
  assert.match(checked, /^# pass 1\d$/m)
  assert.match(checked, /^# fail 0$/m)
  const read = run('node', '--test', ...report, 'test/dataplane/apis/sample/dialect.test.ts')
  assert.match(read, /^# pass 3$/m)
})

/** Source files of the data plane that differ from those of the tree. */
function changedSources(): string[] {
  const sources = filesBelow(join(ROOT, 'dataplane')).filter((file) => !file.endsWith('.md'))
  const isChanged = (file: string) => {
    const [before, now] = [ROOT, tree].map((root) => readFileSync(join(root, 'dataplane', file)))
    return !before!.equals(now!)
  }
  return sources.filter(isChanged).toSorted()
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
