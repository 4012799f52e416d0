/** The official SDKs reach the gateway with every base URL that their documentation shows. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { AzureOpenAI } from 'openai'
import { startFront } from './hostile/front.ts'

const front = await startFront({
  sections: {
    routes: [
      { name: 'chat', strategy: 'single', primary: 'fake' },
      { name: 'team/chat', strategy: 'single', primary: 'fake' },
    ],
  },
})
after(() => front.stop())

const { url } = front.gateway
const messages = [{ role: 'user' as const, content: 'hi' }]

for (const base of ['/v1', '', '/', '/v1/', '/v1/v1', '/openai/v1']) {
  test(`OpenAI's SDK with the base URL "${base}"`, async () => {
    const client = new OpenAI({ baseURL: url + base, apiKey: front.key, maxRetries: 0 })
    const answer = await client.chat.completions.create({ model: 'chat', messages })
    assert.equal(answer.choices.length, 1)
    assert.deepEqual(
      (await client.models.list()).data.map(({ id }) => id),
      ['chat', 'team/chat'],
    )
    assert.equal((await client.models.retrieve('team/chat')).id, 'team/chat')
  })
}

for (const base of ['', '/', '/v1', '/v1/']) {
  test(`Anthropic's SDK with the base URL "${base}"`, async () => {
    const client = new Anthropic({ baseURL: url + base, apiKey: front.key, maxRetries: 0 })
    const answer = await client.messages.create({ model: 'chat', messages, max_tokens: 9 })
    assert.equal(answer.type, 'message')
    assert.ok((await client.messages.countTokens({ model: 'chat', messages })).input_tokens > 0)
  })
}

for (const name of ['chat', 'team/chat']) {
  test(`Azure's SDK names the route "${name}" as its deployment`, async () => {
    const settings = { endpoint: url, apiKey: front.key, apiVersion: '2025-01-01-preview' }
    const client = new AzureOpenAI({ ...settings, deployment: name, maxRetries: 0 })
    front.upstream.asked.length = 0
    const whole = await client.chat.completions.create({ model: 'another', messages })
    assert.equal(whole.choices.length, 1)
    const sent = front.upstream.asked.map(({ body }) => JSON.parse(String(body)).model)
    assert.deepEqual(sent, ['served'])
  })
}

async function toDeployment(name: string, body: string, more: Record<string, string> = {}) {
  return fetch(`${url}/openai/deployments/${name}/chat/completions?api-version=2025-01-01`, {
    method: 'POST',
    headers: { 'api-key': front.key, 'content-type': 'application/json', ...more },
    body,
  })
}

test('a deployment serves a body without a model, and overrides the model in a body', async () => {
  for (const body of [{ messages }, { model: 'nowhere', messages }, { messages, model: null }]) {
    const answer = await toDeployment('chat', JSON.stringify(body))
    assert.equal(answer.status, 200, await answer.text())
    assert.equal(answer.headers.get('x-gw-route'), 'chat')
  }
})

test("an unknown deployment, a bad key and a broken body are refused as at the API's own path", async () => {
  const unknown = await toDeployment('nowhere', JSON.stringify({ messages }))
  assert.equal(unknown.status, 404)
  assert.partialDeepStrictEqual(await unknown.json(), {
    error: { code: 'ERR_GW_ROUTE_NOT_FOUND', param: 'model' },
  })
  const body = JSON.stringify({ messages })
  assert.equal((await toDeployment('chat', body, { 'api-key': 'wrong' })).status, 401)
  for (const broken of ['{"messages":', '[]', '', '{"Model":"chat"}', '{"model":"a","model":"b"}'])
    assert.equal((await toDeployment('chat', broken)).status, 400, broken)
})

test("traces and logs contain the API's path, regardless of the spelling in the request", async () => {
  await toDeployment('chat', JSON.stringify({ messages }))
  const { adminUrl, adminHeaders } = front.gateway
  const answer = await fetch(`${adminUrl}/traces`, { headers: adminHeaders })
  const { traces } = (await answer.json()) as { traces: { path: string }[] }
  const paths = new Set(traces.map(({ path }) => path))
  for (const path of paths)
    assert.match(
      path,
      /^\/v1\/(chat\/completions|models|models\/team.*|messages|messages\/count_tokens)$/,
    )
})
