/** `gw pricing`: prices of a list in a configuration file, exact, with the rest of the file as it was. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { gw } from '../helpers/gw-here.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

const LIST = {
  sample_spec: { input_cost_per_token: 'a number', mode: 'one of chat, embedding' },
  'gpt-4o': {
    ...{ litellm_provider: 'openai', mode: 'chat', max_tokens: 16384 },
    ...{ input_cost_per_token: 2.5e-6, output_cost_per_token: 1e-5 },
    cache_read_input_token_cost: 1.25e-6,
  },
  'claude-m': {
    ...{ input_cost_per_token: 3e-6, output_cost_per_token: 1.5e-5, mode: 'chat' },
    ...{ cache_creation_input_token_cost: 3.75e-6, cache_read_input_token_cost: 3e-7 },
    cache_creation_input_token_cost_above_1hr: 6e-6,
    ...{ input_cost_per_token_above_200k_tokens: 6e-6, mode: 'chat' },
    output_cost_per_token_above_200k_tokens: 2.25e-5,
    input_cost_per_token_above_200k_tokens_priority: 9e-6,
    output_cost_per_reasoning_token: null,
  },
  'gemini/flash': { input_cost_per_token: 3e-7, output_cost_per_token: 2.5e-6 },
  'embed-m': { input_cost_per_token: 2e-8, output_cost_per_token: null, mode: 'embedding' },
  'rank-m': { input_cost_per_query: 0.002, mode: 'rerank' },
}

/** The text of a file with upstreams of these models, and of what follows. */
function configOf(models: readonly (readonly [model: string, provider?: string])[], rest = '') {
  const upstreams = models.map(
    ([model, provider = 'openai'], index) =>
      `    - {name: up-${index}, provider: ${provider}, model: ${model}}\n`,
  )
  return `apiVersion: inference.gw/v1\nkind: GatewayConfig\ngw:\n  upstreams:\n${upstreams.join('')}${rest}`
}

async function files(config: string, list: unknown = LIST): Promise<[list: string, file: string]> {
  const paths: [string, string] = [join(folder, 'prices.json'), join(folder, 'gw.yaml')]
  await writeFile(paths[0], typeof list === 'string' ? list : JSON.stringify(list))
  await writeFile(paths[1], config)
  return paths
}

async function imported(config: string, list?: unknown, ...more: readonly string[]) {
  const [from, file] = await files(config, list)
  const ended = await gw('pricing', 'import', from, '--file', file, '-o', 'json', ...more)
  const text = await readFile(file, 'utf8')
  const { gw: section } = parse(text)
  return { ...ended, text, rows: section.pricing?.models ?? section.pricing }
}

const today = new Date().toISOString().slice(0, 10)
const origin = { source: 'prices.json', as_of: today }

test('import writes exact prices of each configured model, with their day and source', async () => {
  const config = configOf([
    ['gpt-4o'],
    ['claude-m', 'anthropic'],
    ['flash', 'gemini'],
    ['embed-m'],
    ['rank-m', 'cohere'],
  ])
  const { code, rows, stderr } = await imported(config)
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual(rows, [
    { model: 'gpt-4o', input: 2.5, output: 10, cached_input: 1.25, ...origin },
    {
      ...{ model: 'claude-m', input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
      ...{ cache_write_1h: 6, ...origin },
      tiers: [{ above_input_tokens: 200_000, input: 6, output: 22.5 }],
    },
    { model: 'flash', input: 0.3, output: 2.5, ...origin },
    { model: 'embed-m', input: 0.02, output: 0, ...origin },
    { model: 'rank-m', input: 0, output: 0, search: 0.002, ...origin },
  ])
})

test('a file that import has written is valid, and import changes no byte of it again', async () => {
  const keys = '  routes: [{name: chat, strategy: single, primary: up-0}]\n'
  const config = configOf([['gpt-4o'], ['claude-m', 'anthropic']], keys).replaceAll(
    /model: (\S+)}/g,
    'model: $1, api_key: "${env:PATH}"}',
  )
  const first = await imported(config)
  const file = join(folder, 'gw.yaml')
  const validated = await gw('config', 'validate', '--file', file)
  assert.equal(validated.code, 0, validated.stderr)
  const again = await imported(first.text)
  assert.equal(again.text, first.text)
  const results = JSON.parse(again.stdout).models.map(({ result }: { result: string }) => result)
  assert.deepEqual(results, ['same', 'same'])
})

test('exponents, texts and long fractions give the decimal that a person would write', async () => {
  for (const [price, expected] of [
    ['1.5e-06', 1.5],
    ['1.1E-7', 0.11],
    ['0.0000015', 1.5],
    ['"0.0000015"', 1.5],
    ['"2.9e-7"', 0.29],
    ['5.5e-07', 0.55],
    ['0', 0],
    ['0e-400', 0],
    ['1e-12', 0.000001],
    ['7.29166666666e-8', 0.072917],
  ] as const) {
    const list = `{"m": {"input_cost_per_token": ${price}, "output_cost_per_token": 0}}`
    const { rows, text } = await imported(configOf([['m']]), list)
    assert.equal(rows[0].input, expected)
    assert.match(text, new RegExp(`input: ${String(expected).replace('1e-6', '0.000001')}\\n`))
  }
})

test('an entry that gives no usable price is named with its field and value, and other models are written', async () => {
  for (const [fields, words] of [
    [
      '"input_cost_per_token": -1e-6, "output_cost_per_token": 0',
      /input_cost_per_token is -1e-6, less than 0/,
    ],
    [
      '"input_cost_per_token": "free", "output_cost_per_token": 0',
      /input_cost_per_token is "free", not a number/,
    ],
    [
      '"input_cost_per_token": 2.5, "output_cost_per_token": 0',
      /input_cost_per_token is 2\.5, more than 0\.01 USD a token/,
    ],
    ['"input_cost_per_token": 1e999, "output_cost_per_token": 0', /which is not a price/],
    ['"input_cost_per_token": "NaN", "output_cost_per_token": 0', /not a number/],
    ['"input_cost_per_token": true, "output_cost_per_token": 0', /is true, not a number/],
    ['"input_cost_per_token": [1], "output_cost_per_token": 0', /is \[1\], not a number/],
    ['"output_cost_per_token": 0', /input_cost_per_token is missing/],
    ['"input_cost_per_token": null, "output_cost_per_token": 0', /input_cost_per_token is missing/],
    ['"input_cost_per_token": 1e-6', /output_cost_per_token is missing/],
    ['"input_cost_per_second": 1e-4, "mode": "audio_transcription"', /a price for each second/],
    [
      '"input_cost_per_token": 1e-6, "output_cost_per_token": 0, "input_cost_per_token_above_200k_tokens": "x"',
      /above_200k_tokens is "x"/,
    ],
  ] as const) {
    const good = '"n": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}'
    const { code, stderr, rows } = await imported(
      configOf([['m'], ['n']]),
      `{"m": {${fields}}, ${good}}`,
    )
    assert.equal(code, 1, fields)
    assert.match(stderr, words)
    assert.match(stderr, /^error: m: /m)
    assert.deepEqual(rows, [{ model: 'n', input: 1, output: 2, ...origin }])
  }
})

test('a file that is not a price list is refused, and the configuration stays unchanged', async () => {
  for (const list of [
    '[]',
    'not json',
    '"text"',
    '{"m": 5}',
    '{"m": {"input_cost_per_token": 1e-6}',
  ]) {
    const { code, stderr, rows } = await imported(configOf([['m']]), list)
    assert.notEqual(code, 0, list)
    assert.match(stderr, /not JSON|not a price list|not an object/)
    assert.equal(rows, undefined)
  }
  const [from, file] = await files(configOf([['m']]))
  const missing = await gw('pricing', 'import', join(folder, 'none.json'), '--file', file)
  assert.deepEqual([missing.code, /cannot read .*none\.json/.test(missing.stderr)], [2, true])
  const noConfig = await gw('pricing', 'import', from, '--file', from)
  assert.match(noConfig.stderr, /has no gw\.upstreams/)
})

const COMMENTED = configOf(
  [['gpt-4o'], ['claude-m', 'anthropic'], ['mine', 'vllm']],
  `  # Ask Ada before you change a price.
  pricing:
    models:
      - model: mine   # our own machines
        input: 0.1
        output: 0.2

      # negotiated
      - {model: gpt-4o, input: 3, output: 10, reasoning_output: 12} # until June
    infra_cost_per_hour_usd: 4
  routes:   [ {name: chat, strategy: single, primary: up-0} ]
`,
)

test('comments, order, layout and prices that the list does not have stay', async () => {
  const { text, code, stderr } = await imported(COMMENTED)
  assert.equal(code, 0)
  assert.match(stderr, /^warning: mine is not in the list/m)
  const stamp = `source: prices.json, as_of: "${today}"`
  const expected = COMMENTED.replace(
    '{model: gpt-4o, input: 3, output: 10, reasoning_output: 12}',
    `{model: gpt-4o, input: 2.5, output: 10, reasoning_output: 12, cached_input: 1.25, ${stamp}}`,
  ).replace(
    '# until June\n',
    `# until June
      - model: claude-m
        input: 3
        output: 15
        cached_input: 0.3
        cache_write: 3.75
        cache_write_1h: 6
        tiers:
          - above_input_tokens: 200000
            input: 6
            output: 22.5
        source: prices.json
        as_of: "${today}"
`,
  )
  assert.equal(text, expected)
})

test('tiers for other lengths stay, and a listed tier replaces its prices', async () => {
  const pricing = `  pricing:
    - model: claude-m
      input: 3
      output: 15
      tiers:
        # a contract
        - {above_input_tokens: 500000, input: 9}
        - {above_input_tokens: 200000, input: 5, cached_input: 0.6}
`
  const { rows, text } = await imported(configOf([['claude-m', 'anthropic']], pricing))
  assert.deepEqual(rows[0].tiers, [
    { above_input_tokens: 500_000, input: 9 },
    { above_input_tokens: 200_000, input: 6, cached_input: 0.6, output: 22.5 },
  ])
  assert.equal(rows[0].cache_write_1h, 6)
  assert.ok(text.startsWith('apiVersion: inference.gw/v1\nkind: GatewayConfig\n'))
})

test('a row that an alias writes is refused, and the file stays', async () => {
  const pricing = '  pricing: &p\n    - &row {model: gpt-4o, input: 1, output: 2}\n'
  const config = configOf([['gpt-4o']], `${pricing}`).replace('&row {', '{')
  const aliased = `x: &row {model: gpt-4o, input: 1, output: 2}\n${config.replace(/- \{model: gpt-4o, input.*/, '- *row')}`
  const { code, stderr, text } = await imported(aliased)
  assert.deepEqual([code, text], [2, aliased])
  assert.match(stderr, /gw\.pricing\.0 cannot be changed/)
})

test('--as names the entry of a model, and an unknown model or entry is refused', async () => {
  const config = configOf([['mine', 'vllm'], ['gpt-4o']])
  const { rows, code } = await imported(
    config,
    LIST,
    '--as',
    'mine=gpt-4o',
    '--source',
    'prices of May',
  )
  assert.equal(code, 0)
  assert.equal(rows[0].model, 'mine')
  assert.deepEqual([rows[0].input, rows[0].source], [2.5, 'prices of May'])
  const wrong = await imported(config, LIST, '--as', 'other=gpt-4o')
  assert.match(wrong.stderr, /No upstream has the model "other"/)
  const none = await imported(config, LIST, '--as', 'mine=gpt-5')
  assert.match(none.stderr, /no entry "gpt-5"/)
})

test('upstreams of one model with different prices are named, and neither is written', async () => {
  const list = {
    m: { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
    'azure/m': { input_cost_per_token: 2e-6, output_cost_per_token: 1e-6 },
  }
  const { code, stderr, rows } = await imported(configOf([['m'], ['m', 'azure_openai']]), list)
  assert.deepEqual([code, rows], [1, undefined])
  assert.match(stderr, /different prices, "m" and "azure\/m"; choose with --as 'm=ENTRY'/)
})

async function checked(config: string, ...more: readonly string[]) {
  const [from, file] = await files(config)
  const ended = await gw('pricing', 'check', from, '--file', file, '-o', 'json', ...more)
  return { code: ended.code, ...JSON.parse(ended.stdout) }
}

test('check names the models whose prices differ or are missing, and exits with 1', async () => {
  const { code, ok, models } = await checked(COMMENTED)
  assert.deepEqual([code, ok], [1, false])
  assert.deepEqual(models, [
    {
      ...{ model: 'gpt-4o', upstreams: ['up-0'], status: 'differs', entry: 'gpt-4o' },
      differences: [
        { field: 'input', configured: 3, listed: 2.5 },
        { field: 'cached_input', listed: 1.25 },
      ],
    },
    { model: 'claude-m', upstreams: ['up-1'], status: 'no_price', entry: 'claude-m' },
    { model: 'mine', upstreams: ['up-2'], status: 'not_listed' },
  ])
  const [from, file] = await files(COMMENTED)
  const table = await gw('pricing', 'check', from, '--file', file)
  assert.match(table.stdout, /^gpt-4o +differs +- +gpt-4o +input 3 -> 2\.5; cached_input 1\.25$/m)
  const names = await gw('pricing', 'check', from, '--file', file, '-o', 'name')
  assert.equal(names.stdout, 'gpt-4o\nclaude-m\n')
})

test('check exits with 0 if all prices equal the list, and needs no list to find missing prices', async () => {
  const { text } = await imported(configOf([['gpt-4o'], ['claude-m', 'anthropic']]))
  const { code, ok } = await checked(text)
  assert.deepEqual([code, ok], [0, true])
  const [, file] = await files(text)
  assert.equal((await gw('pricing', 'check', '--file', file)).code, 0)
  const [, bare] = await files(configOf([['gpt-4o']]))
  const missing = await gw('pricing', 'check', '--file', bare)
  assert.deepEqual([missing.code, /^gpt-4o +no price/m.test(missing.stdout)], [1, true])
})
