/** What `gw import` writes is served: each route of each recipe answers in one gateway that takes one file after the other. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { json, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { movedOf, RECIPES } from './recipes.ts'

const { key, record } = aKey()
const vectors = json(200, {
  object: 'list',
  model: 'm',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 1, total_tokens: 1 },
})
const chat = whole()
const upstream = await startUpstream((outgoing, asked) =>
  (asked.path.endsWith('/embeddings') ? vectors : chat)(outgoing, asked),
)
const first = {
  apiVersion: 'inference.gw/v1',
  kind: 'GatewayConfig',
  gw: {
    api_keys: [record],
    upstreams: [{ name: 'up', provider: 'vllm', endpoint: upstream.url, model: 'm' }],
    routes: [{ name: 'r', strategy: 'single', upstreams: ['up'] }],
  },
}
const gateway = await startGateway({ config: first })
after(() => Promise.all([gateway.stop(), upstream.close()]))
const { gateway: listener } = parse(await readFile(gateway.configFile, 'utf8')).gw

/** The same routes, names, limits and keys; every upstream is a server of this test. */
function hereOf(yaml: string) {
  const document = parse(yaml)
  const { metadata: _, gw } = document
  const upstreams = gw.upstreams.map(
    ({ name, model, timeout_seconds, circuit_breaker }: Named) => ({
      ...{ name, model, provider: 'vllm', endpoint: upstream.url },
      ...(timeout_seconds === undefined ? {} : { timeout_seconds: 30 }),
      ...(circuit_breaker === undefined ? {} : { circuit_breaker }),
    }),
  )
  const { rate_limits, telemetry: _t, ...rest } = gw
  const { redis: _r, backend: _b, ...limits } = rate_limits
  const api_keys = [...(gw.api_keys ?? []), record]
  return {
    apiVersion: document.apiVersion,
    kind: document.kind,
    gw: { ...rest, gateway: listener, upstreams, api_keys, rate_limits: limits },
  }
}

interface Named {
  readonly name: string
  readonly model: string
  readonly timeout_seconds?: number
  readonly circuit_breaker?: object
}

for (const recipe of RECIPES) {
  test(`${recipe.from}/${recipe.name} is served, and each of its names reaches one of its models`, async () => {
    const config = hereOf(movedOf(recipe).yaml)
    const applied = await fetch(`${gateway.adminUrl}/config`, {
      method: 'PUT',
      headers: gateway.adminHeaders,
      body: stringify(config),
    })
    assert.equal(applied.status, 200, await applied.text())
    const names = [
      ...config.gw.routes.map(({ name }: { name: string }) => name),
      ...Object.keys(config.gw.aliases ?? {}).map((name) => name.replace('*', 'any-name')),
    ]
    const models = config.gw.upstreams.map(({ model }: Named) => model)
    for (const model of names) {
      upstream.asked.length = 0
      const isVectors = ['titan', 'vectors'].includes(model)
      const input = isVectors
        ? { input: 'Hello' }
        : { messages: [{ role: 'user', content: 'Hello' }] }
      const path = isVectors ? 'embeddings' : 'chat/completions'
      const answer = await fetch(`${gateway.url}/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, ...input }),
      })
      assert.equal(answer.status, 200, `${model}: ${await answer.text()}`)
      const sent = upstream.asked[0]?.body.model
      assert.ok(models.includes(sent) || models.includes('*'), model)
    }
  })
}

test('a key of the other gateway goes on working', async () => {
  const recipe = RECIPES.find(({ name }) => name === 'fallbacks.yaml')
  assert.ok(recipe)
  const config = hereOf(movedOf(recipe).yaml)
  await fetch(`${gateway.adminUrl}/config`, {
    method: 'PUT',
    headers: gateway.adminHeaders,
    body: stringify(config),
  })
  const listed = await fetch(`${gateway.url}/v1/models`, {
    headers: { authorization: 'Bearer sk-recipe-master' },
  })
  assert.equal(listed.status, 200)
})
