/** `gw import`: entries that differ in their key alone become one upstream with a list of keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { moved } from '../../cli/moving/import.ts'
import type { SourceName } from '../../cli/moving/source-names.ts'
import { movedOf, RECIPES } from './recipes.ts'

function recipeOf(from: SourceName) {
  const recipe = RECIPES.find((one) => one.from === from && /^several-keys/.test(one.name))
  assert.ok(recipe)
  const { yaml, fields } = movedOf(recipe)
  return { yaml, fields, gw: parse(yaml).gw }
}

const keysOf = (upstreams: readonly { name: string; api_key: unknown }[]) =>
  Object.fromEntries(upstreams.map(({ name, api_key }) => [name, api_key]))

test('deployments of LiteLLM that differ in their key alone become one upstream, with the share of all its keys', () => {
  const { yaml, fields, gw } = recipeOf('litellm')
  assert.deepEqual(keysOf(gw.upstreams), {
    'gpt-4o': ['${env:OPENAI_KEY_A}', '${env:OPENAI_KEY_B}'],
    'gpt-4o-3': '${env:AZURE_KEY}',
    haiku: ['${env:ANTHROPIC_KEY_A}', '${env:ANTHROPIC_KEY_B}'],
    sonnet: '${env:ANTHROPIC_KEY_A}',
    'sonnet-2': '${env:ANTHROPIC_KEY_B}',
  })
  assert.equal(gw.upstreams[0].max_queue_depth, 80)
  const [first, second, third] = gw.routes
  assert.deepEqual(first, {
    ...{ name: 'gpt-4o', strategy: 'weighted' },
    upstreams: [
      { name: 'gpt-4o', weight: 2 },
      { name: 'gpt-4o-3', weight: 1 },
    ],
  })
  assert.deepEqual(second, {
    ...{ name: 'haiku', strategy: 'primary_with_fallback', primary: 'haiku' },
    fallback: [{ route: 'gpt-4o' }],
  })
  assert.deepEqual(third.upstreams.length, 2)
  assert.match(yaml, /# line \d+, model_list\[1\]\.model_info\.id: a key of the upstream gpt-4o\n/)
  assert.match(
    yaml,
    /# The other gateway has an entry for each key\. .*\n +api_key: \["\$\{env:OPENAI_KEY_A/,
  )
  const moved = fields.find(({ path }) => path === 'model_list[1].litellm_params.api_key')
  assert.deepEqual(moved?.became, ['gw.upstreams[0].api_key'])
})

test('keys of a provider of Bifrost with one weight become one upstream, and one with another weight stays apart', () => {
  const { gw } = recipeOf('bifrost')
  assert.deepEqual(keysOf(gw.upstreams), {
    'openai/gpt-4o': ['${env:OPENAI_A}', '${env:OPENAI_B}'],
    'openai/gpt-4o-mini': ['${env:OPENAI_A}', '${env:OPENAI_B}'],
    'openai/gpt-4o-mini-3': '${env:OPENAI_TRIAL}',
    'anthropic/claude-haiku-4-5': ['${env:ANTHROPIC_ONE}', '${env:ANTHROPIC_TWO}'],
  })
  const { upstreams } = gw.routes[1]
  assert.deepEqual(upstreams, [
    { name: 'openai/gpt-4o-mini', weight: 1 },
    { name: 'openai/gpt-4o-mini-3', weight: 0.1 },
  ])
})

test('targets of Portkey that share requests become one upstream, and each name is accounted for', () => {
  const { fields, gw } = recipeOf('portkey')
  assert.equal(gw.upstreams.length, 1)
  assert.equal(gw.upstreams[0].api_key.length, 3)
  const name = fields.find(({ path }) => path === 'targets[1].name')
  assert.equal(name?.note, 'a key of the upstream first')
})

const LITELLM = (entries: readonly string[], more = '') =>
  `model_list:\n${entries.map((one) => `  - ${one}\n`).join('')}${more}`
const entry = (name: string, model: string, key: string, more = '') =>
  `{model_name: ${name}, litellm_params: {model: ${model}, api_key: os.environ/${key}${more}}}`

const APART: Readonly<Record<string, string>> = {
  'they serve two names': LITELLM([
    entry('a', 'openai/gpt-4o', 'ONE'),
    entry('b', 'openai/gpt-4o', 'TWO'),
  ]),
  'they have the same key': LITELLM([
    entry('a', 'openai/gpt-4o', 'ONE'),
    entry('a', 'openai/gpt-4o', 'ONE'),
  ]),
  'they have other parameters': LITELLM([
    entry('a', 'openai/gpt-4o', 'ONE', ', temperature: 0.1'),
    entry('a', 'openai/gpt-4o', 'TWO'),
  ]),
  'the gateway fetches another credential with the key': LITELLM([
    entry('a', 'vertex_ai/gemini-2.5-flash', 'ONE', ', vertex_credentials: os.environ/C1'),
    entry('a', 'vertex_ai/gemini-2.5-flash', 'TWO', ', vertex_credentials: os.environ/C2'),
  ]),
  'there are more than a list can have': LITELLM(
    Array.from({ length: 17 }, (_, index) => entry('a', 'openai/gpt-4o', `KEY_${index}`)),
  ),
}

for (const [why, text] of Object.entries(APART)) {
  test(`entries stay separate upstreams if ${why}`, () => {
    const { yaml, problems } = moved('litellm', { name: 'config.yaml', text })
    const { upstreams } = parse(yaml).gw
    assert.equal(upstreams.length, text.split('model_name').length - 1)
    assert.deepEqual(
      problems.filter(({ severity }) => severity === 'error'),
      [],
    )
  })
}

test('a fallback in the order of the file keeps its order', () => {
  const text = JSON.stringify({
    strategy: { mode: 'fallback' },
    targets: ['first', 'second', 'third'].map((name) => ({
      virtual_key: `openai-${name}`,
      override_params: { model: 'gpt-4o-mini' },
    })),
  })
  const { gw } = parse(moved('portkey', { name: 'config.json', text }).yaml)
  assert.equal(gw.upstreams.length, 3)
  assert.equal(gw.routes[0].fallback.length, 2)
})
