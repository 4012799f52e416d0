/**
 * Headers of other gateways as tags, through OpenAI's SDK as their users send them. None of them reaches the
 * upstream.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import OpenAI, { BadRequestError } from 'openai'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { sdkError } from '../helpers/sdk-error.ts'

const LITELLM = 'x-litellm-tags'
const CLOUDFLARE = 'cf-aig-metadata'
const PORTKEY = 'x-portkey-metadata'

const upstream = await startUpstream()
const front = await startFront({
  upstreams: [
    { name: 'one', endpoint: upstream.url },
    { name: 'claude', provider: 'anthropic', endpoint: upstream.url },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'one' },
    { name: 'claude', strategy: 'single', primary: 'claude' },
  ],
  rate_limits: {
    default: { requests_per_minute: 100_000, burst: 1000, concurrent_requests: 100 },
  },
  usage: {
    tags: ['team', 'feature'],
    required_tags: ['team'],
    tag_headers: [
      { header: 'X-LiteLLM-Tags', tag: 'feature' },
      { header: CLOUDFLARE },
      { header: PORTKEY },
    ],
  },
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

const openai = new OpenAI({ apiKey: front.key, baseURL: `${front.process.url}/v1` })
const CHAT = { model: 'chat', messages: [{ role: 'user' as const, content: 'hi' }] }

async function tagsWith(headers: Readonly<Record<string, string>>): Promise<string> {
  const { response } = await openai.chat.completions.create(CHAT, { headers }).withResponse()
  return (await front.admin(`/traces/${response.headers.get('x-request-id')}`)).tags
}

test("each gateway's header counts by its tags, and none goes upstream", async () => {
  const json = JSON.stringify({ team: 'blue', feature: 'search', user: 12345 })
  assert.equal(await tagsWith({ [CLOUDFLARE]: json }), 'team=blue,feature=search')
  assert.equal(await tagsWith({ [PORTKEY]: json }), 'team=blue,feature=search')
  assert.equal(
    await tagsWith({ [LITELLM]: 'production,team:blue' }),
    'team=blue,feature=production',
  )
  const all = { [LITELLM]: 'team:a', [CLOUDFLARE]: json, [PORTKEY]: json, 'x-gw-tags': 'feature=b' }
  assert.equal(await tagsWith(all), 'team=a,feature=b')
  for (const { headers } of upstream.asked)
    assert.deepEqual(
      Object.keys(headers).filter((name) => name in all),
      [],
    )
})

test('a report by tag shows them', async () => {
  const { rows } = await front.admin('/usage?by=tag:team')
  const shown = rows.map(({ by }: { by: Record<string, string> }) => by['tag:team']).toSorted()
  assert.deepEqual(shown, ['a', 'blue'])
})

test('a header that is not JSON does not satisfy a required tag, and hides no other one', async () => {
  const broken = { [CLOUDFLARE]: '{"team": blue}' }
  const error = await sdkError(
    openai.chat.completions.create(CHAT, { headers: broken }),
    BadRequestError,
  )
  assert.equal(error.code, 'ERR_GW_TAG_REQUIRED')
  assert.match(error.message, /its value in the request is not valid/)
  assert.equal(
    await tagsWith({ ...broken, [PORTKEY]: '{"team":"blue"}' }),
    'team=blue,feature=invalid',
  )
})

const visible = fc.string({ unit: 'grapheme-ascii', maxLength: 300 }).map((text) => text.trim())

test('nothing in the headers stops a request, and the upstream gets none of them', async () => {
  const path = front.process.url
  const headers = fc.record(
    {
      'x-gw-tags': visible,
      [LITELLM]: visible,
      [CLOUDFLARE]: fc.oneof(
        visible,
        fc.json().filter((text) => /^[ -~]*$/.test(text)),
      ),
      [PORTKEY]: visible,
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(headers, fc.constantFrom('chat', 'claude'), async (given, model) => {
      const before = upstream.asked.length
      const answer = await fetch(
        `${path}/v1/${model === 'chat' ? 'chat/completions' : 'messages'}`,
        {
          method: 'POST',
          headers: {
            ...given,
            authorization: `Bearer ${front.key}`,
            'content-type': 'application/json',
            'x-gw-tags': `${given['x-gw-tags'] ?? ''},team=blue`,
          },
          body: JSON.stringify({ ...CHAT, model, max_tokens: 5 }),
        },
      )
      await answer.text()
      // An upstream that plays OpenAI does not answer in Anthropic's form.
      if (model === 'chat') assert.equal(answer.status, 200)
      assert.equal(upstream.asked.length, before + 1)
      const sent = upstream.asked.at(-1)
      const names = ['x-gw-tags', LITELLM, CLOUDFLARE, PORTKEY]
      assert.deepEqual(
        names.filter((name) => name in (sent?.headers ?? {})),
        [],
      )
    }),
    { numRuns: 100 },
  )
})
