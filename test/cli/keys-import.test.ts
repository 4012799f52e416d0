/** `gw keys import litellm`: the same keys by their hashes, teams as tenants, budgets as limits; bad rows by their line. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { gw } from '../helpers/gw-here.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

const hashOf = (key: string) => hash('sha256', key)
const CONFIG = `apiVersion: inference.gw/v1
kind: GatewayConfig
# Ask Ada before you change a price.
gw:
  upstreams: [{name: up, provider: openai, model: gpt-4o, api_key: "\${env:KEY}"}]
  routes:
    - {name: chat, strategy: single, upstreams: [up]} # for all
  aliases: {gpt-4o: chat}
  pricing: [{model: gpt-4o, input: 2.5, output: 10}]
`

async function put(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const HEAD =
  'token,key_name,key_alias,spend,expires,models,team_id,blocked,rpm_limit,tpm_limit,max_budget,budget_duration,model_max_budget,metadata'
const row = (key: string, cells: string) => `${hashOf(key)},sk-...1234,${cells}`
const TABLE = [
  HEAD,
  row('sk-one', 'search bot,1.5,2027-03-01 00:00:00,"{gpt-4o,chat}",t1,f,60,,25,30d,{},{}'),
  row(
    'sk-two',
    ',0,,{},,,,,,,"{""chat"": {""budget_limit"": 2, ""time_period"": ""1d""}}","{""a"": 1}"',
  ),
  row('sk-three', '"=cmd|""calc""\nx",0,,{all-proxy-models},t2,t,,1000,,,{},{}'),
  '',
].join('\n')
const TEAMS = `team_id,team_alias,max_budget,budget_duration,rpm_limit,models,blocked
t1,Search Team,100,1mo,600,{},f
t2,Ops,,,,{},f
`

async function imported(table: string, ...more: readonly string[]) {
  const [keys, file] = [await put('keys.csv', table), await put('gw.yaml', CONFIG)]
  const teams = await put('teams.csv', TEAMS)
  const ended = await gw('keys', 'import', 'litellm', keys, '--teams', teams, '-f', file, ...more)
  const text = await readFile(file, 'utf8')
  return { ...ended, text, gw: parse(text).gw }
}

test('keys keep their hashes, names and budgets; teams become tenants; the rest of the file stays', async () => {
  const { code, stderr, text, gw: section } = await imported(TABLE)
  assert.equal(code, 0, stderr)
  assert.match(text, /# Ask Ada before you change a price\./)
  assert.match(text, /upstreams: \[up\]\} # for all/)
  const [one, two, three] = section.api_keys
  assert.deepEqual(one, {
    ...{ id: 'search-bot', tenant: 'Search-Team', hash: `sha256:${hashOf('sk-one')}` },
    ...{ routes: ['chat'], expires_at: '2027-03-01T00:00:00.000Z' },
  })
  assert.deepEqual(two, {
    ...{ id: `key-${hashOf('sk-two').slice(0, 8)}`, tenant: 'litellm' },
    ...{ hash: `sha256:${hashOf('sk-two')}`, routes: ['*'] },
  })
  assert.deepEqual(
    [three.id, three.tenant, three.reason],
    ['cmd-calc-x', 'Ops', 'blocked in LiteLLM'],
  )
  assert.deepEqual(section.limits, [
    {
      ...{ name: 'litellm-search-bot', for: { key: 'search-bot' } },
      ...{ requests_per_minute: 60, burst: 60, budget: { usd: 25, per: '30d' } },
    },
    {
      ...{ name: `litellm-${two.id}-chat`, for: { key: two.id, model: 'chat' } },
      budget: { usd: 2, per: 'day' },
    },
    { name: 'litellm-cmd-calc-x', for: { key: 'cmd-calc-x' }, tokens_per_minute: 1000 },
    {
      ...{ name: 'litellm-Search-Team', for: { tenant: 'Search-Team' } },
      ...{ requests_per_minute: 600, burst: 600, budget: { usd: 100, per: 'month' } },
    },
  ])
  assert.match(
    stderr,
    /keys\.csv:2: no place: spend of 1 row: counters begin at zero; what is left/,
  )
  assert.match(stderr, /keys\.csv:3: no place: metadata of 1 row/)
  const validated = await gw('config', 'validate', '--file', join(folder, 'gw.yaml'))
  assert.equal(validated.code, 0, validated.stderr)
})

test('of a budget without a window, what is left is taken; one with a window begins again; a spent one is named', async () => {
  const budgets = [
    `${hashOf('sk-rest')},sk-...1234,rest,2.25,,{},,,,,10,,{},{}`,
    `${hashOf('sk-again')},sk-...1234,again,2.25,,{},,,,,10,30d,{},{}`,
  ]
  const { code, stderr, gw: section } = await imported([HEAD, ...budgets, ''].join('\n'))
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    section.limits.map(({ budget }: { budget: object }) => budget),
    [
      { usd: 7.75, per: 'total' },
      { usd: 10, per: '30d' },
    ],
  )
  const spent = `${hashOf('sk-spent')},sk-...1234,spent,10.5,,{},,,,,10,,{},{}`
  const refused = await imported([HEAD, spent, ''].join('\n'))
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /keys\.csv:2: error: max_budget is spent \(10\.5 of 10 USD\): raise it, or remove the row/,
  )
  assert.equal(refused.gw.api_keys, undefined)
})

test('a key that manages LiteLLM or only reads gets no right to call models, and its line is named', async () => {
  const rights = ['management_routes', 'info_routes', 'llm_api_routes', '/v1/chat/completions']
  const table = [
    'token,key_alias,allowed_routes,key_type,total_spend',
    ...rights.map((right, at) => `${hashOf(right)},key-${at},{${right}},any,1`),
    '',
  ].join('\n')
  const { code, stderr, gw: section } = await imported(table)
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    section.api_keys.map(({ id }: { id: string }) => id),
    ['key-2', 'key-3'],
  )
  assert.match(
    stderr,
    /keys\.csv:2: no place: allowed_routes of 2 rows: such a key calls no models/,
  )
  assert.match(stderr, /keys\.csv:5: no place: allowed_routes of 1 row: a key has no list of paths/)
  assert.doesNotMatch(stderr, /key_type|total_spend/)
})

test('a second import of the same table changes nothing', async () => {
  const { text } = await imported(TABLE)
  const paths = ['keys.csv', 'teams.csv', 'gw.yaml'].map((name) => join(folder, name))
  const [keys = '', teams = '', file = ''] = paths
  const again = await gw(
    'keys',
    'import',
    'litellm',
    keys,
    '--teams',
    teams,
    '-f',
    file,
    '-o',
    'json',
  )
  assert.equal(again.code, 0, again.stderr)
  assert.deepEqual(
    JSON.parse(again.stdout).keys.map(({ result }: { result: string }) => result),
    ['same', 'same', 'same'],
  )
  assert.doesNotMatch(again.stdout, /sha256|[0-9a-f]{64}/)
  assert.equal(await readFile(file, 'utf8'), text)
})

const FAULTS: Readonly<Record<string, readonly [cells: string, says: RegExp]>> = {
  'a key in place of its hash': [
    'sk-live-1,,a,0,,{},,,,,,,{},{}',
    /:2: error: token is a key, not its hash/,
  ],
  'no hash': [
    'abc,,a,0,,{},,,,,,,{},{}',
    /:2: error: token is no SHA-256 of 64 hexadecimal digits/,
  ],
  'an unknown model': [
    row('a', 'a,0,,{gpt-9},,,,,,,{},{}'),
    /:2: error: models names "gpt-9", which is no route/,
  ],
  'a negative budget': [
    row('a', 'a,0,,{},,,,,-5,30d,{},{}'),
    /:2: error: max_budget must be a number/,
  ],
  'another window': [
    row('a', 'a,0,,{},,,,,5,11d,{},{}'),
    /:2: error: budget_duration gives no window/,
  ],
  'a rate of nothing': [
    row('a', 'a,0,,{},,,0,,,,{},{}'),
    /:2: error: rpm_limit must be at least 1/,
  ],
  'no time': [row('a', 'a,0,tomorrow,{},,,,,,,{},{}'), /:2: error: expires must be a time/],
  'a day that is not': [
    row('a', 'a,0,2027-02-31,{},,,,,,,{},{}'),
    /:2: error: expires must be a time/,
  ],
  'no truth value': [
    row('a', 'a,0,,{},,maybe,,,,,{},{}'),
    /:2: error: blocked must be true or false/,
  ],
  'the same key twice': [
    `${row('a', 'a,0,,{},,,,,,,{},{}')}\n${row('a', 'b,0,,{},,,,,,,{},{}')}`,
    /:3: error: token is that of line 2 again/,
  ],
}

for (const [name, [cells, says]] of Object.entries(FAULTS)) {
  test(`a row with ${name} is named with its line, and nothing is written`, async () => {
    const { code, stderr, text } = await imported(`${HEAD}\n${cells}\n`)
    assert.equal(code, 1)
    assert.match(stderr, says)
    assert.doesNotMatch(stderr, /sk-live-1/)
    assert.equal(text, CONFIG)
  })
}

const BROKEN: Readonly<Record<string, readonly [text: string, says: RegExp]>> = {
  'too few cells': [`${HEAD}\na,b\n`, /keys\.csv:2: the row has 2 cells, and the header has 14/],
  'an open quote': [`${HEAD}\n"abc,\n`, /keys\.csv:2: a quote is not closed/],
  'a column twice': ['token,token\na,b\n', /keys\.csv:1: the column "token" is there twice/],
  'no rows': [`${HEAD}\n`, /keys\.csv has no rows/],
  'broken JSON': ['[{"token": "a', /keys\.csv:1: /],
}

for (const [name, [table, says]] of Object.entries(BROKEN)) {
  test(`a table with ${name} ends with 2, and nothing is written`, async () => {
    const { code, stderr, text } = await imported(table)
    assert.equal(code, 2)
    assert.match(stderr, says)
    assert.equal(text, CONFIG)
  })
}

test('a budget of money without prices is refused as a whole, with the model that lacks one', async () => {
  const keys = await put('keys.csv', TABLE)
  const without = CONFIG.replace(/ {2}pricing.*\n/, '')
  const file = await put('gw.yaml', without)
  const { code, stderr } = await gw('keys', 'import', 'litellm', keys, '-f', file)
  assert.equal(code, 1)
  assert.match(stderr, /no price for "?gpt-4o/)
  assert.match(stderr, /nothing was written/)
  assert.equal(await readFile(file, 'utf8'), without)
})

test('JSON of the key API is read too, and without a file the records are printed', async () => {
  const keys = [
    { token: hashOf('sk-one'), key_alias: 'a', models: ['chat'], rpm_limit: 5, expires: null },
  ]
  const path = await put('keys.json', JSON.stringify({ keys }, null, 2))
  const { code, stdout } = await gw('keys', 'import', 'litellm', path, '--tenant', 'acme')
  assert.equal(code, 0)
  assert.deepEqual(parse(stdout), {
    api_keys: [{ id: 'a', tenant: 'acme', hash: `sha256:${hashOf('sk-one')}`, routes: ['chat'] }],
    limits: [{ name: 'litellm-a', for: { key: 'a' }, requests_per_minute: 5, burst: 5 }],
  })
})
