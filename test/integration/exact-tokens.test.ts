/**
 * An upstream that names its encoding: prompts are counted with its model's tokenizer where an
 * estimate would be wrong.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { errorOf, Front, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const WINDOW = 100
const thrifty = aKey({ tenant: 'thrifty' })
const client = aKey()
const fake = await startUpstream()
const upstream = (name: string, tokenizer?: object) => ({
  name,
  endpoint: fake.url,
  model: 'm',
  context_window: WINDOW,
  ...(tokenizer && { tokenizer }),
})
const { process: started } = await startFront({
  upstreams: [
    upstream('estimated'),
    upstream('exact', { encoding: 'o200k_base' }),
    upstream('file', { file: join(import.meta.dirname, '../fixtures/tokenizers/bytes.json') }),
    { ...upstream('roomy', { encoding: 'o200k_base' }), context_window: 100_000 },
  ],
  routes: ['estimated', 'exact', 'file', 'roomy'].map((name) => ({
    name,
    strategy: 'single',
    primary: name,
  })),
  api_keys: [thrifty.record, client.record],
  budgets: [{ tenant: 'thrifty', tokens_per_day: 1_000_000 }],
})
const front = new Front(started, client.key)
after(() => Promise.all([front.process.stop(), fake.close()]))

/** Each of these words is a token of six bytes, with 7 tokens around them. */
const words = (count: number) => [{ role: 'user', content: ' hello'.repeat(count) }]

test('a prompt whose estimate is too long is served because its count fits', async () => {
  const estimated = await front.chat({ model: 'estimated', messages: words(WINDOW - 10) })
  assert.equal(errorOf(estimated).code, 'ERR_GW_CONTEXT_OVERFLOW')
  assert.match(errorOf(estimated).message, /too long: about \d+ tokens of messages/)
  // The encoding's tables may still be loading.
  await until('the prompt is counted', async () => {
    const counted = await front.chat({ model: 'exact', messages: words(WINDOW - 10) })
    return counted.status === 200
  })
  // On a busy machine a late count is replaced by an estimate.
  await until('a prompt that is too long is refused because of its count', async () => {
    const more = await front.chat({ model: 'exact', messages: words(WINDOW) })
    assert.equal(errorOf(more).code, 'ERR_GW_CONTEXT_OVERFLOW')
    return /too long: 107 tokens of messages/.test(errorOf(more).message)
  })
})

test('a prompt whose estimate fits is refused because its tokenizer.json counts more', async () => {
  const messages = [{ role: 'user', content: ' hello'.repeat(WINDOW / 4) }]
  assert.equal((await front.chat({ model: 'estimated', messages })).status, 200)
  await until('the prompt is counted', async () => {
    const counted = await front.chat({ model: 'file', messages })
    return errorOf(counted).code === 'ERR_GW_CONTEXT_OVERFLOW'
  })
  const { upstreams } = await front.admin('/status')
  const tokens = upstreams.map((one: { tokens: { counted: string } }) => one.tokens.counted)
  assert.deepEqual(tokens, ['estimate', 'exact', 'exact', 'exact'])
})

test('a budget uses an upper bound, and context inspect and explain show it', async () => {
  const budgeted = new Front(started, thrifty.key)
  fake.reply = whole('hello', { prompt_tokens: 17, completion_tokens: 3 })
  const heard = await budgeted.chat({ model: 'roomy', messages: words(10) })
  assert.equal(heard.status, 200)
  assert.equal(heard.headers['x-gw-budget-tokens-remaining'], '1000000')
  const id = String(heard.headers['x-request-id'])
  const place = ['--admin', started.adminUrl]
  const { stdout } = await gw('context', 'inspect', ...place, '--request-id', id, '-o', 'json')
  const { prompt } = JSON.parse(stdout)
  assert.deepEqual(prompt, { tokens: 17, counted: 'exact', decided_by: 'upper bound' })
  const shown = await gw('context', 'inspect', ...place, '--request-id', id)
  assert.match(shown.stdout, /prompt +17 tokens \(exact, decided by an upper bound\)/)
  const asked = ['--route', 'roomy', '--tenant', 'thrifty']
  const explained = await gw('explain', ...place, ...asked)
  assert.match(explained.stdout, /prompt: 12 tokens \(upper bound\)/)
})
