/** A real LiteLLM with its database moves to gw: its models, keys and budgets, and its clients under load. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { startUpstream, streaming, whole } from '../helpers/fake-upstream.ts'
import { type GatewayProcess, startGateway } from '../helpers/gateway-process.ts'
import { gw } from '../helpers/gw-here.ts'
import { startNginx } from '../helpers/nginx.ts'
import { startPostgres } from '../helpers/vector-stores/postgres-server.ts'
import { storePackages } from '../helpers/vector-stores/programs.ts'
import { type Litellm, startLitellm } from './litellm-server.ts'
import { Load } from './load.ts'
import { Transcript } from './transcript.ts'

const MASTER = 'sk-master-of-the-test'
const messages = [{ role: 'user' as const, content: 'Hi' }]
const folder = await mkdtemp(join(tmpdir(), 'gw-moving-'))
const [postgres, upstream] = await Promise.all([startPostgres(), startUpstream()])
upstream.reply = (outgoing, asked) =>
  (asked.body.stream === true ? streaming() : whole())(outgoing, asked)
const price = '{ input_cost_per_token: 0.0000025, output_cost_per_token: 0.00001 }'
const config = `model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_base: ${upstream.url}/v1, api_key: os.environ/OPENAI_KEY_A }
    model_info: ${price}
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_base: ${upstream.url}/v1, api_key: os.environ/OPENAI_KEY_B }
    model_info: ${price}
router_settings: { model_group_alias: { smart: gpt-4o } }
general_settings: { master_key: ${MASTER} }
`
const configFile = join(folder, 'config.yaml')
await writeFile(configFile, config)
const env = { OPENAI_KEY_A: 'sk-of-account-a', OPENAI_KEY_B: 'sk-of-account-b' }
Object.assign(process.env, env)
const transcript = new Transcript(folder)
let litellm: Litellm
let gateway: GatewayProcess | undefined
let nginx: Awaited<ReturnType<typeof startNginx>>
const keys = { search: '', notebook: '' }

before(async () => {
  litellm = await startLitellm(config, postgres)
  nginx = await startNginx([{ to: litellm.url, settings: {}, readyPath: '/health/readiness' }])
})
after(async () => {
  await Promise.all([nginx?.stop(), litellm?.stop(), gateway?.stop(), upstream.close()])
  await postgres.stop()
  await rm(folder, { recursive: true })
})

async function make(path: string, body: object): Promise<Record<string, string>> {
  const answer = await fetch(litellm.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${MASTER}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as Record<string, string>
}

const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${nginx.urls[0]}/v1` })

async function askAs(apiKey: string, model: string) {
  const { data, response } = await clientOf(apiKey)
    .chat.completions.create({ model, messages })
    .withResponse()
  return { text: data.choices[0]?.message.content, by: response.headers }
}

const spent = async () =>
  postgres.ask('SELECT key_alias, spend FROM "LiteLLM_VerificationToken" WHERE spend > 0')

test('LiteLLM makes a team and two keys, and its clients spend', { timeout: 300_000 }, async () => {
  const team = await make('/team/new', {
    ...{ team_alias: 'Search', models: ['gpt-4o'], max_budget: 100, budget_duration: '30d' },
  })
  const search = await make('/key/generate', {
    ...{ key_alias: 'search bot', team_id: team.team_id, models: ['gpt-4o'] },
    ...{ max_budget: 5, budget_duration: '30d', rpm_limit: 6000 },
  })
  const notebook = await make('/key/generate', { key_alias: 'notebook', max_budget: 1 })
  Object.assign(keys, { search: search.key, notebook: notebook.key })
  for (const key of Object.values(keys)) {
    const { text, by } = await askAs(key, 'gpt-4o')
    assert.equal(text, 'hello')
    assert.ok(by.has('x-litellm-call-id'))
  }
  while ((await spent()).length < 2) await postgres.ask('SELECT pg_sleep(0.2)')
})

test('its configuration and its tables become a configuration of gw that is valid', async () => {
  const psql = join(await storePackages(), 'pgserver/pginstall/bin/psql')
  const url = new URL(postgres.url)
  url.password = postgres.password
  for (const [table, file] of [
    ['LiteLLM_VerificationToken', 'keys.csv'],
    ['LiteLLM_TeamTable', 'teams.csv'],
  ] as const) {
    const copy = `\\copy "${table}" TO ${file} CSV HEADER`
    const { stdout } = await promisify(execFile)(psql, [url.href, '-c', copy], { cwd: folder })
    transcript.add(`psql "$DATABASE_URL" -c '${copy}'`, stdout)
  }
  await transcript.run('import', 'litellm', 'config.yaml', '-o', 'gw.yaml')
  await transcript.run(
    ...['keys', 'import', 'litellm', 'keys.csv', '--teams', 'teams.csv', '--file', 'gw.yaml'],
  )
  await transcript.run('config', 'validate', '--file', 'gw.yaml')
})

test('the gateway has the names, the keys with their budgets, and what is left of one without a window', async () => {
  const text = await readFile(join(folder, 'gw.yaml'), 'utf8')
  gateway = await startGateway({ config: text, env })
  const limits = await gw('limits', 'show', '--key', 'search-bot', '--admin', gateway.adminUrl)
  transcript.add('gw limits show --key search-bot', limits.stdout)
  assert.match(limits.stdout, /litellm-search-bot .*budget usd +30d .*\b5\b/)
  const notebook = await gw('limits', 'show', '--key', 'notebook', '--admin', gateway.adminUrl)
  assert.match(notebook.stdout, /litellm-notebook .*budget usd +total .*\b0\.9999/)
})

test('clients move under load behind nginx: no request fails', { timeout: 300_000 }, async () => {
  assert.ok(gateway)
  const load = new Load(clientOf, [keys.search, keys.notebook, MASTER], ['gpt-4o', 'smart'])
  await load.until('x-litellm-call-id', 40)
  await nginx.moveTo(gateway.url)
  await load.until('x-gw-route', 400)
  const { failures, byLitellm, byGateway } = await load.end()
  transcript.add(
    '# 6 clients keep sending; nginx -s reload with the new address',
    `answered by LiteLLM: ${byLitellm}, then by gw: ${byGateway}; failed: ${failures.length}`,
  )
  assert.deepEqual(failures, [])
})

test('after the end of LiteLLM and its database, the old keys and names go on', async () => {
  await Promise.all([litellm.stop()])
  for (const [key, model] of [
    [keys.search, 'gpt-4o'],
    [keys.search, 'smart'],
    [keys.notebook, 'gpt-4o'],
    [MASTER, 'smart'],
  ] as const) {
    const { text, by } = await askAs(key, model)
    assert.equal(text, 'hello')
    assert.ok(by.has('x-gw-route'))
  }
  const sent = new Set(upstream.asked.map(({ headers }) => headers.authorization))
  assert.deepEqual([...sent].toSorted(), ['Bearer sk-of-account-a', 'Bearer sk-of-account-b'])
  await assert.rejects(askAs('sk-of-no-one', 'gpt-4o'), /401/)
  await transcript.write()
})
