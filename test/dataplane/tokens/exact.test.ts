/** The prompts of an upstream with an encoding are counted exactly, in a separate thread. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ThreadCounter } from '../../../dataplane/tokens/exact/counters.ts'
import { TokenThread } from '../../../dataplane/tokens/exact/token-thread.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'

/** A machine under load may take long to start a thread. */
const thread = new TokenThread(undefined, 600_000)
after(() => thread.stop())

const counter = new ThreadCounter('o200k_base', thread)

/** The published numbers for these texts. */
const KNOWN = [
  ['o200k_base', 'hello world', 2],
  ['cl100k_base', 'hello world', 2],
  ['o200k_base', 'tiktoken is great!', 6],
  ['cl100k_base', 'tiktoken is great!', 6],
  ['o200k_base', 'antidisestablishmentarianism', 6],
  ['cl100k_base', 'antidisestablishmentarianism', 6],
  ['o200k_base', '2 + 2 = 4', 7],
  ['cl100k_base', 'お誕生日おめでとう', 9],
  ['o200k_base', 'お誕生日おめでとう', 8],
  ['o200k_base', '', 0],
] as const

for (const [encoding, text, tokens] of KNOWN) {
  test(`${encoding} has ${tokens} tokens for "${text}"`, async () => {
    assert.equal(await thread.count(encoding, [text]), tokens)
  })
}

test('a text that looks like a control token is counted as a text', async () => {
  const tokens = await thread.count('o200k_base', ['<|endoftext|>'])
  assert.ok(tokens !== undefined && tokens > 1)
})

test('a conversation has the published tokens around its messages', async () => {
  const messages = [
    { role: 'system', content: 'hello world' },
    { role: 'user', name: 'bob', content: [{ type: 'text', text: 'hello world' }] },
  ]
  // Two texts of 2 tokens, two roles and one name of 1, 3 around each message, 1 around the name, 3 before the answer.
  assert.deepEqual(await counter.count(aRequest({ messages })), {
    tokens: 4 + 3 + 6 + 1 + 3,
    exact: true,
  })
})

test('functions have the published tokens around them', async () => {
  const text = async (one: string) => (await thread.count('o200k_base', [one])) ?? 0
  const parameters = {
    type: 'object',
    properties: {
      place: { type: 'string', description: 'The city.' },
      unit: { type: 'string', enum: ['c', 'f'] },
      more: { type: 'array', items: { type: 'string' } },
    },
  }
  const described = { name: 'weather', description: 'Tells the weather.', parameters }
  const tools = [{ type: 'function', function: described }]
  const plain = await counter.count(aRequest())
  const { tokens } = await counter.count(aRequest({ tools }))
  const texts = [
    'weather:Tells the weather',
    'place:string:The city',
    'unit:string:',
    'c',
    'f',
    'more:array:',
  ]
  let expected = 7 + 3 + 3 * 3 + (-3 + 3 * 2) + 12 + (await text('{"items":{"type":"string"}}'))
  for (const one of texts) expected += await text(one)
  assert.equal(tokens - plain.tokens, expected)
})

test('every malformed member of a conversation is counted or omitted, and nothing is thrown', async () => {
  const messages = [
    {
      role: 'user',
      content: [null, 7, { text: 7 }, { image_url: null }, { image_url: { url: 7 } }],
    },
    { role: 'assistant', content: null, tool_calls: [null, { function: 7 }, 'x'] },
  ]
  const tools = [
    null,
    { function: null },
    { function: { parameters: { properties: { a: null } } } },
    'x',
  ]
  assert.equal((await counter.count(aRequest({ messages, tools }))).exact, true)
})

test('texts that take a tokenizer quadratic time are counted in slices', async () => {
  const texts = ['a', ' ', '\n', '漢', '🦜', 'ab'].map((unit) => unit.repeat(100_000 / unit.length))
  const tokens = await thread.count('o200k_base', texts)
  assert.ok(tokens !== undefined && tokens > 10_000)
})

test('a prompt above a mebibyte, and inputs of embeddings, are estimated at once', () => {
  const messages = [{ role: 'user', content: 'x'.repeat(1_048_576) }]
  const counted = counter.count(aRequest({ messages }))
  assert.ok(!(counted instanceof Promise))
  assert.equal(counted.exact, false)
})

test('a request waits for tables only if the configuration names them', async () => {
  const loading = Promise.withResolvers<number>()
  const late = { count: () => loading.promise }
  const chosen = new ThreadCounter('o200k_base', late, false)
  const first = chosen.count(aRequest())
  assert.ok(!(first instanceof Promise) && !first.exact)
  loading.resolve(3)
  await loading.promise
  assert.equal((await chosen.count(aRequest())).exact, true)
  assert.ok(new ThreadCounter('o200k_base', late).count(aRequest()) instanceof Promise)
})

test('a thread that breaks costs exactness, and the next call starts another', async () => {
  const broken = new TokenThread(new URL('data:text/javascript,throw new Error("broken")'))
  const estimated = new ThreadCounter('o200k_base', broken)
  for (const _ of [1, 2]) {
    const counted = await estimated.count(aRequest())
    assert.equal(counted.exact, false)
    assert.ok(counted.tokens > 0)
  }
})

test('a thread that cannot be started costs exactness, and takes no room among waiting prompts', async () => {
  const unstarted = new TokenThread(new URL('http://localhost/thread.js'))
  for (const _ of [1, 2, 3])
    assert.equal(await unstarted.count('o200k_base', ['x'.repeat(2_000_000)]), undefined)
  const counted = await new ThreadCounter('o200k_base', unstarted).count(aRequest())
  assert.equal(counted.exact, false)
})

test('beyond the limit of waiting prompts nothing is counted', async () => {
  const silent = new TokenThread(new URL('data:text/javascript,setInterval(() => {}, 1e9)'))
  after(() => silent.stop())
  const first = silent.count('o200k_base', ['x'.repeat(4_000_000)])
  assert.equal(await silent.count('o200k_base', ['x'.repeat(400_000)]), undefined)
  await silent.stop()
  assert.equal(await first, undefined)
})
