/** Clients can add one log line per request, and no metric series. */
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { after, test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { CHAT_BODY, chatBytes, type Front, KEY, open, startFront, withKey } from './front.ts'
import { sendTo } from './send.ts'

const front = await startFront()
after(() => front.stop())

async function series({ gateway }: Front): Promise<string[]> {
  const text = await (await fetch(`${gateway.metricsUrl}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith('gw_'))
  return lines.map((line) => line.slice(0, line.lastIndexOf(' '))).toSorted()
}

const METHODS = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'M-SEARCH',
]

/**
 * A request with a random model, path or method; all are refused, and all may keep their
 * connection.
 */
function randomRequest(index: number): string {
  const word = randomBytes(randomInt(1, 40)).toString('base64url')
  if (index % 3 === 0) {
    const body = CHAT_BODY.replace('"chat"', JSON.stringify(word))
    return chatBytes({ body })
  }
  const method = METHODS[index % METHODS.length]
  const path = index % 3 === 1 ? `/${word}` : `/v1/models/${word}?${word}=${word}`
  // The answer to HEAD has no body, which the parser of raw answers cannot know.
  return chatBytes({
    line: `${method === 'HEAD' ? 'GET' : method} ${path} HTTP/1.1`,
    headers: [
      `Host: ${word}`,
      `Authorization: Bearer ${index % 2 ? KEY : word}`,
      `User-Agent: ${word}`,
      `Origin: http://${word}`,
    ],
    body: '',
  })
}

test('10,000 random models, paths and methods add no series', { timeout: 900_000 }, async () => {
  const kinds = Array.from({ length: 66 }, (_, index) => index)
  await askAll(kinds)
  const before = await series(front)
  await askAll(Array.from({ length: 10_000 }, (_, index) => index))
  const names = await series(front)
  assert.deepEqual(
    names.filter((name) => !before.includes(name)),
    [],
  )
  assert.equal(names.length, before.length)
  assert.equal(front.upstream.asked.length, 0)
})

async function askAll(indices: readonly number[]): Promise<void> {
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    const mine = indices.filter((index) => index % 8 === lane)
    const socket = open(front)
    for (const [count, index] of mine.entries()) {
      socket.send(withKey(front, randomRequest(index)))
      if (count % 50 !== 49 && count !== mine.length - 1) continue
      const heard = await socket.until(() => socket.answers.length === count + 1, 120)
      assert.ok(heard, `${socket.answers.length} of ${count + 1}: ${socket.heard.slice(-300)}`)
    }
    assert.ok(socket.answers.every(({ status }) => status < 500))
    socket.leave()
  })
  await Promise.all(lanes)
}

const EVIL = [
  'a\r\nb',
  'a\nb',
  'a\rb',
  '\u2028\u2029',
  '\u0085\u009b31m',
  '\x1b[31mred\x1b[0m',
  '\x1b]0;title\x07',
  '\0',
  '\x08\x7f',
  '","level":"error","event":"forged',
  '"}\n{"event":"forged"}',
  '\\',
  '\\u000a',
  '${env:HOME}',
  '%0d%0a',
  '\ud800',
  '{{7*7}}',
  '$(reboot)',
  "'; DROP TABLE keys;--",
  '<script>alert(1)</script>',
  'a'.repeat(100_000),
]

test("each request is one line of JSON, regardless of the client's text", async () => {
  const start = front.gateway.output().length
  const ids = new Set<string>()
  for (const evil of EVIL) {
    const byModel = await sendTo(front, { body: CHAT_BODY.replace('"chat"', JSON.stringify(evil)) })
    assert.ok(byModel.status === 404, byModel.text)
    ids.add(String(byModel.headers['x-request-id']))
    // The root is an API for probes of load balancers.
    const path = `/x${encodeURIComponent(evil.toWellFormed())
      .replaceAll(/%2F|%00|%5C/g, '')
      .slice(0, 5000)}`
    const byPath = await sendTo(front, { path, method: 'GET' })
    assert.equal(byPath.status, 404, byPath.text)
    ids.add(String(byPath.headers['x-request-id']))
  }
  for (const bytes of [
    'GET /a\x1b[31m HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /\x9b31m HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /"} HTTP/1.1\r\nHost: a\r\n\r\n',
  ]) {
    const socket = open(front, bytes)
    assert.ok(await socket.until(() => socket.answers.length === 1))
    socket.leave()
  }
  // A pipe may split the first and the last line.
  const lines = () => {
    const text = front.gateway.output()
    const before = text.indexOf('\n', start - 1)
    return (before === -1 ? '' : text.slice(before, text.lastIndexOf('\n')))
      .split('\n')
      .filter((line) => line !== '')
  }
  const logged = () => new Set(lines().map((line) => JSON.parse(line).request_id))
  await until('all are logged', () => ids.isSubsetOf(logged()))
  for (const line of lines()) {
    const { event, level, path = '' } = JSON.parse(line)
    assert.equal(event, 'request')
    assert.equal(level, 'info')
    assert.ok(String(path).length <= 200)
    assert.ok(line.length < 4096, 'a line with the longest text of a client')
    assert.doesNotMatch(line, /[\p{Cc}\u2028\u2029]/u)
  }
})

test('the labels of refusals are codes', async () => {
  const names = await series(front)
  const codes = names.filter((name) => name.startsWith('gw_refused_total'))
  assert.ok(codes.length > 0)
  for (const name of codes) assert.match(name, /^gw_refused_total\{code="ERR_GW_[A-Z_]+"\}$/)
})
