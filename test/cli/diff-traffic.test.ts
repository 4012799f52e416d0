/** `gw diff --traffic`: the same requests at two gateways, compared by status, model, tokens and cost. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { refusingUrl } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

interface Answer {
  readonly status?: number
  readonly model?: string
  readonly output?: number
  readonly cost?: string
  readonly isStream?: true
}

/** A gateway that gives each request the answer that it names in its body, or the usual one. */
async function aGateway(answers: Readonly<Record<string, Answer>> = {}) {
  const asked: { readonly key: string | undefined; readonly body: string }[] = []
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    void Array.fromAsync<Buffer>(incoming).then((parts) => {
      const body = Buffer.concat(parts).toString()
      asked.push({ key: incoming.headers.authorization, body })
      const wanted = body === '' ? '' : String(JSON.parse(body).wanted)
      const {
        status = 200,
        model = 'gpt-4o',
        output = 3,
        cost = '0.5',
        isStream,
      } = answers[wanted] ?? {}
      const usage = { prompt_tokens: 7, completion_tokens: output }
      const answer = JSON.stringify({ model, usage })
      outgoing.writeHead(status, { 'x-gw-cost-usd': cost })
      outgoing.end(
        isStream ? `data: {"model": "${model}"}\n\ndata: ${answer}\n\ndata: [DONE]\n\n` : answer,
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

async function traffic(...lines: readonly (object | string)[]): Promise<string> {
  const path = join(folder, 'requests.jsonl')
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  await writeFile(path, texts.join('\n'))
  return path
}

const ask = (wanted: string) => ({
  path: '/v1/chat/completions',
  body: { model: 'gpt-4o', wanted },
})

test('answers that are alike end with 0, and each gateway gets every request with its key', async () => {
  const [from, to] = [await aGateway(), await aGateway({ b: { isStream: true } })]
  const file = await traffic(ask('a'), ask('b'), { method: 'GET', path: '/v1/models' })
  const { code, stdout, stderr } = await gw(
    ...['diff', '--traffic', file, '--from', from.url, '--url', to.url],
    ...['--key', 'new-key', '--from-key', 'old-key'],
  )
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^3 of 3 requests are answered alike; tokens 30 -> 30\n$/)
  assert.deepEqual([...new Set(from.asked.map(({ key }) => key))], ['Bearer old-key'])
  assert.deepEqual([...new Set(to.asked.map(({ key }) => key))], ['Bearer new-key'])
  assert.deepEqual(
    from.asked.map(({ body }) => body).toSorted(),
    to.asked.map(({ body }) => body).toSorted(),
  )
  assert.doesNotMatch(stdout + stderr, /new-key|old-key/)
})

test('another status, model, number of tokens or cost is named with its line, and ends with 1', async () => {
  const to = await aGateway({
    ...{ status: { status: 429 }, model: { model: 'gpt-4o-mini' }, tokens: { output: 4 } },
    cost: { cost: '0.6' },
  })
  const from = await aGateway()
  const file = await traffic(ask('same'), ask('status'), ask('model'), ask('tokens'), ask('cost'))
  const asked = ['diff', '--traffic', file, '--from', from.url, '--url', to.url]
  const { code, stdout } = await gw(...asked, '-o', 'json')
  assert.equal(code, 1)
  const { requests, differing, compared } = JSON.parse(stdout)
  assert.deepEqual([requests, differing], [5, 4])
  assert.deepEqual(
    compared.map(({ line, differences }: { line: number; differences: object[] }) => [
      line,
      differences,
    ]),
    [
      [1, []],
      [2, [{ field: 'status', from: 200, to: 429 }]],
      [3, [{ field: 'model', from: 'gpt-4o', to: 'gpt-4o-mini' }]],
      [4, [{ field: 'output_tokens', from: 3, to: 4 }]],
      [5, [{ field: 'cost_usd', from: 0.5, to: 0.6 }]],
    ],
  )
  const table = await gw(...asked)
  assert.equal(table.code, 1)
  assert.match(table.stdout, /^3 +\/v1\/chat\/completions +model gpt-4o -> gpt-4o-mini/m)
  assert.match(table.stdout, /^1 of 5 requests are answered alike/m)
  const near = await gw(...asked, '--tolerance', '50', '-o', 'name')
  assert.equal(near.stdout, '2\n3\n')
})

test('a gateway that does not answer at all ends with 2, and says where', async () => {
  const [from, url] = [await aGateway(), await refusingUrl()]
  const { code, stderr } = await gw(
    'diff',
    '--traffic',
    await traffic(ask('a')),
    '--from',
    from.url,
    '--url',
    url,
  )
  assert.equal(code, 2)
  assert.ok(stderr.includes(`No server answers at ${url} (ECONNREFUSED)`), stderr)
})

const FAULTS: Readonly<Record<string, readonly [line: object | string, says: RegExp]>> = {
  'no JSON': ['{', /requests\.jsonl:2: the line is not a JSON object/],
  'no path': [{ body: {} }, /requests\.jsonl:2: path must start with one \//],
  'an address': [{ path: '//other.example/v1', body: {} }, /requests\.jsonl:2: path must start/],
  'headers, which may hold keys': [
    { path: '/v1', body: {}, headers: { authorization: 'Bearer sk-secret' } },
    /requests\.jsonl:2: "headers" is not read; remove it/,
  ],
  'another method': [
    { method: 'DELETE', path: '/v1/x' },
    /requests\.jsonl:2: method must be POST or GET/,
  ],
  'no body': [{ path: '/v1/chat/completions' }, /requests\.jsonl:2: body must be an object/],
}

for (const [name, [line, says]] of Object.entries(FAULTS)) {
  test(`a line with ${name} is named, and nothing is sent`, async () => {
    const from = await aGateway()
    const file = await traffic(ask('a'), line)
    const { code, stderr } = await gw(
      'diff',
      '--traffic',
      file,
      '--from',
      from.url,
      '--url',
      from.url,
    )
    assert.equal(code, 2)
    assert.match(stderr, says)
    assert.doesNotMatch(stderr, /sk-secret/)
    assert.equal(from.asked.length, 0)
  })
}

test('--traffic without --from, and neither --file nor --traffic, are wrong usage', async () => {
  const file = await traffic(ask('a'))
  const alone = await gw('diff', '--traffic', file, '--url', 'http://127.0.0.1:1')
  assert.equal(alone.code, 64)
  assert.match(alone.stderr, /--traffic needs --from/)
  const nothing = await gw('diff')
  assert.equal(nothing.code, 64)
  assert.match(nothing.stderr, /required option '-f, --file <path>' not specified/)
})
