/** `gw import`: entries for any model name, and groups within groups, keep their meaning. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { movedOf, RECIPES } from './recipes.ts'

function sectionOf(name: string) {
  const recipe = RECIPES.find((one) => `${one.from}/${one.name}` === name)
  assert.ok(recipe !== undefined, name)
  const { yaml, fields } = movedOf(recipe)
  const lost = fields.filter(({ outcome }) => outcome === 'no_place')
  return { gw: parse(yaml).gw, lost: lost.map(({ path }) => path) }
}

test('a Bifrost key without a list of models serves each name behind its provider', () => {
  const { gw, lost } = sectionOf('bifrost/any-model.json')
  assert.deepEqual(lost, [])
  assert.deepEqual(gw.aliases, { 'openai/*': 'openai', 'anthropic/*': 'anthropic' })
  const models = gw.upstreams.map(({ name, model }: Record<string, string>) => [name, model])
  assert.deepEqual(models, [
    ['openai', '*'],
    ['openai/gpt-4o-mini', 'gpt-4o-mini'],
    ['anthropic', '*'],
  ])
  const attempts = gw.routes.map(({ name, retry }: { name: string; retry?: object }) => [
    name,
    retry,
  ])
  assert.deepEqual(attempts, [
    ['openai', { max_attempts: 3 }],
    ['openai/gpt-4o-mini', { max_attempts: 3 }],
    ['anthropic', undefined],
  ])
})

test('patterns of agentgateway become aliases, and its backends without a model any model', () => {
  const { gw, lost } = sectionOf('agentgateway/any-model.yaml')
  assert.deepEqual(lost, [])
  assert.deepEqual(gw.aliases, { 'openai/*': 'openai', '*': 'anthropic' })
  const models = gw.upstreams.map(({ name, model }: Record<string, string>) => [name, model])
  assert.deepEqual(models, [
    ['openai', '*'],
    ['anthropic', 'claude-haiku-4-5'],
    ['gemini', '*'],
    ['cohere', 'command-r'],
  ])
  assert.deepEqual(gw.gateway.cors, {
    allowed_origins: ['https://app.example.com', 'https://other.example.com'],
    allow_credentials: true,
  })
})

test('a group within a group of Portkey is a route that shares its requests', () => {
  const { gw, lost } = sectionOf('portkey/groups.json')
  assert.deepEqual(lost, [])
  const [first, second] = gw.routes
  assert.deepEqual(first, {
    name: 'default',
    strategy: 'weighted',
    upstreams: [
      { name: 'default-1', weight: 0.7 },
      { name: 'default-2', weight: 0.3 },
    ],
    fallback: [{ route: 'default-2' }],
  })
  assert.deepEqual([second.name, second.upstreams], ['default-2', ['default-2-1', 'default-2-2']])
  const nested = sectionOf('portkey/nested.json')
  assert.deepEqual(nested.lost, [])
  const outer = nested.gw.routes.find(({ name }: { name: string }) => name === 'default')
  assert.deepEqual(outer.upstreams, [
    { name: 'default-1', weight: 0.5 },
    { route: 'default-2', weight: 0.5 },
  ])
})
