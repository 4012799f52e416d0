/**
 * A tokenizer.json counts like the reference implementation, in the thread, and in time that grows only with the text.
 */
import assert from 'node:assert/strict'
import { copyFile, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ThreadCounter } from '../../../dataplane/tokens/exact/counters.ts'
import { fileName, TokenThread } from '../../../dataplane/tokens/exact/token-thread.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'

const thread = new TokenThread(undefined, 600_000)
after(() => thread.stop())

const fixture = (name: string) =>
  join(import.meta.dirname, '../../fixtures/tokenizers', `${name}.json`)
const ENGLISH = 'The text of a prompt is mostly made of words, and of sentences. '.repeat(60).trim()

/** As Hugging Face's `tokenizers` 0.22 counts for Python; both files set one mark before every prompt. */
const KNOWN = [
  ['', 0, 0],
  ['hello', 4, 5],
  ['Hello world, how is the weather in Paris today?', 27, 38],
  ['東京の天気は晴れです。明日は雨が降るでしょう。', 30, 24],
  ['Numbers: 3.14159, 1,000,000, 0x1F600, 2026-11-22T20:15:00Z. 🙂🚀', 67, 68],
  ['const total = items.reduce((sum, { price }) => sum + price * 1.19, 0) // 19 %', 37, 60],
  ['  two  spaces\n\nand lines\t tabs ', 21, 23],
  ['<|im_start|>user', 4, 13],
  [ENGLISH, 1980, 2940],
] as const

for (const [text, bytes, pieces] of KNOWN) {
  test(`both kinds of files count "${text.slice(0, 40)}" as the reference does`, async () => {
    assert.equal(await thread.count(fileName(fixture('bytes')), [text]), 1 + bytes)
    assert.equal(await thread.count(fileName(fixture('pieces')), [text]), 1 + pieces)
  })
}

test('a conversation has the tokens of its template around its messages, and its tools as JSON', async () => {
  const name = fileName(fixture('bytes'))
  const counter = new ThreadCounter(name, thread)
  const of = async (...texts: string[]) => ((await thread.count(name, texts)) ?? 0) - 1
  const messages = [
    { role: 'system', content: 'hello' },
    { role: 'user', content: [{ type: 'text', text: 'hello' }] },
  ]
  const tool = { type: 'function', function: { name: 'weather' } }
  const around = 1 + 2 * 4 + 2 + (await of('assistant'))
  assert.deepEqual(await counter.count(aRequest({ messages })), {
    tokens: around + (await of('system', 'hello', 'user', 'hello')),
    exact: true,
  })
  const { tokens } = await counter.count(aRequest({ messages, tools: [tool] }))
  assert.equal(
    tokens,
    around + (await of('system', 'hello', 'user', 'hello', JSON.stringify(tool))),
  )
})

test('a picture makes the count an estimate', async () => {
  const counter = new ThreadCounter(fileName(fixture('bytes')), thread)
  const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]
  const counted = await counter.count(aRequest({ messages: [{ role: 'user', content }] }))
  assert.equal(counted.exact, false)
  assert.ok(counted.tokens > 765)
})

test('texts with quadratic time as a whole are counted in slices', async () => {
  const texts = ['\n', '漢', '🦜', 'ab'].map((unit) => unit.repeat(20_000 / unit.length))
  for (const kind of ['bytes', 'pieces']) {
    const tokens = await thread.count(fileName(fixture(kind)), [...texts, 'a'.repeat(100_000)])
    assert.ok(tokens !== undefined && tokens > 100_000)
  }
  const spaces = await thread.count(fileName(fixture('pieces')), [' '.repeat(1_000_000)])
  assert.ok(spaces !== undefined && spaces > 100_000)
})

test('the process continues its work while a prompt of 100,000 tokens is counted', async () => {
  const messages = [{ role: 'user', content: 'hello world '.repeat(15_000) }]
  const counted = new ThreadCounter(fileName(fixture('bytes')), thread).count(
    aRequest({ messages }),
  )
  let [turns, isDone] = [0, false]
  void Promise.resolve(counted).then(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    turns++
  }
  const { tokens, exact } = await counted
  assert.ok(exact && tokens > 100_000)
  assert.ok(turns > 2, 'the count was made at once')
})

test('an abandoned count ends, so that others need not wait for it', async () => {
  const impatient = new TokenThread(undefined, 1)
  after(() => impatient.stop())
  const name = fileName(fixture('bytes'))
  assert.equal(await impatient.count(name, ['漢'.repeat(1_000_000)]), undefined)
})

test('a rewritten file is read again, and an invalid one reports why', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'tokenizer-')), 'tokenizer.json')
  const name = fileName(file)
  const counter = new ThreadCounter(name, thread)
  await copyFile(fixture('bytes'), file)
  assert.equal(await thread.count(name, ['hello']), 5)
  await copyFile(fixture('pieces'), file)
  assert.equal(await thread.count(name, ['hello']), 6)
  await writeFile(file, '{"model": 7}')
  assert.equal((await counter.count(aRequest())).exact, false)
  assert.equal(typeof counter.whyEstimated, 'string')
  await copyFile(fixture('bytes'), file)
  assert.equal((await counter.count(aRequest())).exact, true)
  assert.equal(counter.whyEstimated, undefined)
})

test('a missing file is reported', async () => {
  const counter = new ThreadCounter(fileName('/nowhere/tokenizer.json'), thread)
  assert.equal((await counter.count(aRequest())).exact, false)
  assert.match(counter.whyEstimated ?? '', /ENOENT.*nowhere/)
})
