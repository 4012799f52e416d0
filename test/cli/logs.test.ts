/** `gw logs` of files and of standard input. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { collectOutput } from '../helpers/gateway-process.ts'
import { TOOL } from '../helpers/gw.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

const request = (id: string, fields: Record<string, unknown> = {}) =>
  JSON.stringify({
    time: '2026-11-23T08:40:01.000Z',
    level: 'info',
    event: 'request',
    request_id: id,
    method: 'POST',
    path: '/v1/chat/completions',
    tenant: 'acme',
    key: 'k1',
    model: 'gpt-4o',
    route: 'chat',
    upstream: 'one',
    status: 200,
    attempts: 2,
    duration_ms: 12.4,
    prompt_tokens: 7,
    completion_tokens: 3,
    ...fields,
  })

const LINES = [
  '{"time":"2026-11-23T08:40:00.000Z","level":"warn","event":"breaker","message":"The breaker opened.","upstream":"one","from":"closed"}',
  request('r1'),
  request('r2', { tenant: 'blue', status: 429, code: 'ERR_GW_RATE_LIMIT_LOCAL', attempts: 0 }),
  request('r3', { status: 503, level: 'error', route: 'other', client_request_id: 'order-17' }),
  'Warning: \u001b[31mnot JSON',
]

async function written(lines: readonly string[]): Promise<string> {
  const file = join(folder, `${lines.length}-${Math.random()}.log`)
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

const file = await written(LINES)

test('a line of JSON becomes one that people read, and no other line steers the terminal', async () => {
  const { code, stdout, stderr } = await gw('logs', '--file', file)
  assert.deepEqual([code, stderr], [0, ''])
  const lines = stdout.trimEnd().split('\n')
  assert.equal(lines[0], '08:40:00 warn  The breaker opened. upstream=one from=closed')
  const more = '2 attempts, 7+3 tokens, 12 ms, r1'
  assert.equal(lines[1], `08:40:01 info  POST /v1/chat/completions 200 chat at one, acme, ${more}`)
  assert.equal(lines[4], 'Warning: \\u{1b}[31mnot JSON')
  const wide = await gw('logs', '--file', file, '-o', 'wide', '--request-id', 'r1')
  assert.match(wide.stdout, /^2026-11-23T08:40:01.000Z .*, r1, key k1, model gpt-4o\n$/)
})

const filters = [
  [['--tenant', 'blue'], 'r2'],
  [['--route', 'other'], 'r3'],
  [['--status', '429'], 'r2'],
  [['--status', '4xx,5xx'], 'r2 r3'],
  [['--request-id', 'order-17'], 'r3'],
  [['--tail', '2'], 'r3'],
  [['--tenant', 'acme', '--status', '2xx'], 'r1'],
  [['--since', '1m'], ''],
] as const

for (const [args, ids] of filters) {
  test(`gw logs ${args.join(' ')} prints ${ids || 'nothing'}`, async () => {
    const { code, stdout } = await gw('logs', '--file', file, ...args, '-o', 'name')
    assert.deepEqual([code, stdout.trim().split('\n').join(' ')], [0, ids])
  })
}

test('programs get a document a line', async () => {
  const { stdout } = await gw('logs', '--file', file, '-o', 'json')
  const documents = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(documents.length, 5)
  assert.equal(documents[1].request_id, 'r1')
  assert.deepEqual(documents[4], { message: LINES[4] })
})

test('standard input is read if there is neither a file nor a cluster', async () => {
  const env = { ...process.env, HOME: folder, KUBECONFIG: '' }
  const child = spawn(process.execPath, [TOOL, 'logs', '--tenant', 'blue'], { env })
  const output = collectOutput(child)
  child.stdin.end(`${LINES.join('\n')}\n`)
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
  assert.match(output(), /^08:40:01 info .* 429 .*, r2\n$/)
})

test('-f continues with new lines, through rotation, until Ctrl-C', async (t) => {
  const many = Array.from({ length: 20 }, (_, index) => request(`old${index}`))
  const followed = await written(many)
  const child = spawn(process.execPath, [TOOL, 'logs', '--file', followed, '-f', '-o', 'name'])
  t.after(() => child.kill('SIGKILL'))
  const output = collectOutput(child)
  const ended = once(child, 'close')
  await until('the last lines are shown', () => output().includes('old19'))
  assert.equal(output().split('\n')[0], 'old10')
  await appendFile(followed, `${request('new1')}\n`)
  await until('a new line is shown', () => output().includes('new1'))
  await rename(followed, `${followed}.1`)
  await writeFile(followed, `${request('new2')}\n`)
  await until('the new file is read', () => output().includes('new2'))
  child.kill('SIGINT')
  assert.equal((await ended)[0], 130)
})

const misuses = [
  [['--file', file, '-n', 'ai'], /--file reads a file, not a cluster/],
  [['gwc/a', '--gateway', 'b'], /both name a gateway/],
  [['--status', '42'], /Give statuses such as 429/],
  [['--file', file, '--previous'], /--previous reads pods of a cluster/],
  [['pod/a'], /Give gwc\/NAME/],
] as const

for (const [args, message] of misuses) {
  test(`gw logs ${args.at(-1)} of wrong usage ends with 64`, async () => {
    const { code, stderr } = await gw('logs', ...args)
    assert.equal(code, 64)
    assert.match(stderr, message)
  })
}

test('a missing file exits with 2', async () => {
  const { code, stderr } = await gw('logs', '--file', join(folder, 'none.log'))
  assert.equal(code, 2)
  assert.match(stderr, /ENOENT/)
})
