/** An upstream that names its encoding: prompts are counted as its model does, where an estimate would be wrong. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { errorOf, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const WINDOW = 100
const fake = await startUpstream()
const upstream = (name: string, tokenizer?: object) => ({
  name,
  endpoint: fake.url,
  model: 'm',
  context_window: WINDOW,
  ...(tokenizer && { tokenizer }),
})
const front = await startFront({
  upstreams: [
    upstream('estimated'),
    upstream('exact', { encoding: 'o200k_base' }),
    upstream('file', { file: join(import.meta.dirname, '../fixtures/tokenizers/bytes.json') }),
  ],
  routes: ['estimated', 'exact', 'file'].map((name) => ({
    name,
    strategy: 'single',
    primary: name,
  })),
})
after(() => Promise.all([front.process.stop(), fake.close()]))

/** Each of these words is a token of six bytes; 7 tokens stand around them. */
const words = (count: number) => [{ role: 'user', content: ' hello'.repeat(count) }]

test('a prompt that is estimated too long is served where it is counted', async () => {
  const estimated = await front.chat({ model: 'estimated', messages: words(WINDOW - 10) })
  assert.equal(errorOf(estimated).code, 'ERR_GW_CONTEXT_OVERFLOW')
  assert.match(errorOf(estimated).message, /but about \d+ tokens of messages/)
  // The tables of the encoding may still be loading.
  await until('the prompt is counted', async () => {
    const counted = await front.chat({ model: 'exact', messages: words(WINDOW - 10) })
    return counted.status === 200
  })
  // A count that comes too late on a busy machine is an estimate.
  await until('one that is too long is refused by its count', async () => {
    const more = await front.chat({ model: 'exact', messages: words(WINDOW) })
    assert.equal(errorOf(more).code, 'ERR_GW_CONTEXT_OVERFLOW')
    return /but 107 tokens of messages/.test(errorOf(more).message)
  })
})

test('a prompt that is estimated to fit is refused where a tokenizer.json counts more', async () => {
  const messages = [{ role: 'user', content: ' hello'.repeat(WINDOW / 4) }]
  assert.equal((await front.chat({ model: 'estimated', messages })).status, 200)
  await until('the prompt is counted', async () => {
    const counted = await front.chat({ model: 'file', messages })
    return errorOf(counted).code === 'ERR_GW_CONTEXT_OVERFLOW'
  })
  const { upstreams } = await front.admin('/status')
  const tokens = upstreams.map((one: { tokens: { counted: string } }) => one.tokens.counted)
  assert.deepEqual(tokens, ['estimate', 'exact', 'exact'])
})
