/** The official SDKs read the limits of an answer, and wait as long as a refusal asks. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import { keysOf, startLimited } from './limits/limited-gateway.ts'

const TENANTS = ['chat', 'responses', 'messages'] as const
const keys = keysOf(TENANTS)
const upstream = await startUpstream()
const gateway = await startLimited(
  {
    upstreams: [{ name: 'model', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
    rate_limits: {
      default: { requests_per_minute: 20, burst: 1, tokens_per_minute: 1_000_000 },
    },
  },
  keys,
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

const { url } = gateway.as('chat').process
const options = (tenant: string) => ({ apiKey: keys.byTenant.get(tenant) ?? '', maxRetries: 2 })
const openai = (tenant: string) => new OpenAI({ ...options(tenant), baseURL: `${url}/v1` })
const messages = [{ role: 'user' as const, content: 'hi' }]

/** A call of each API; its headers contain the tenant's limits. */
const ASK = {
  chat: () => openai('chat').chat.completions.create({ model: 'chat', messages }).withResponse(),
  responses: () =>
    openai('responses').responses.create({ model: 'chat', input: 'hi' }).withResponse(),
  messages: () =>
    new Anthropic({ ...options('messages'), baseURL: url }).messages
      .create({ model: 'chat', max_tokens: 9, messages })
      .withResponse(),
}

for (const tenant of TENANTS) {
  test(`of two concurrent clients of ${tenant} one is refused, and served when it retries`, async () => {
    const [one, other] = await Promise.all([ASK[tenant](), ASK[tenant]()])
    for (const { response } of [one, other]) {
      const shown = (figure: string, unit: string) =>
        response.headers.get(
          tenant === 'messages'
            ? `anthropic-ratelimit-${unit}-${figure}`
            : `x-ratelimit-${figure}-${unit}`,
        ) ?? ''
      assert.equal(response.status, 200)
      assert.equal(shown('limit', 'requests'), '20')
      assert.equal(shown('remaining', 'requests'), '0')
      assert.match(shown('reset', 'requests'), tenant === 'messages' ? /^\d{4}-.*Z$/ : /\d+m?s$/)
      assert.ok(Number(shown('remaining', 'tokens')) > 0)
    }
    const statuses = () =>
      gateway
        .as(tenant)
        .logged('request')
        .filter((line) => line.tenant === tenant)
        .map(({ status }) => Number(status))
    await until('all are logged', () => statuses().length >= 3)
    assert.deepEqual(statuses().toSorted(), [200, 200, 429])
  })
}
