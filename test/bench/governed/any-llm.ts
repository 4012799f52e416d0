/**
 * any-llm's gateway with SQLite, its default, and with PostgreSQL, which it recommends for production: keys, and budgets in
 * money of each user.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { bringPython } from '../peers/peer.ts'
import { MEASURED_CORE, startProcess } from '../processes.ts'
import { untilServing } from './one-process.ts'
import { aPostgres } from './stores.ts'
import { MICRO, PRICE, type Running, type System, type Terms } from './system.ts'

/** The last version in its package that has the gateway. */
const VERSION = '1.14.0'
const MASTER = 'master-key-of-the-benchmark'
const MODEL = 'openai:bench'
const USER = 'acme'
/** An answer of the checks: seven tokens of its prompt, and three. */
const ANSWER_USD = (7 * PRICE.input + 3 * PRICE.output) * MICRO

export function bringAnyLlm(): System[] {
  const program = join(
    bringPython('any-llm-sdk', VERSION, 'any-llm-sdk[gateway]'),
    'any-llm-gateway',
  )
  const system = {
    cap: 'a budget in money',
    isBudget: true,
    isSlow: true,
    start: (terms: Terms) => start(program, terms),
  }
  const NO_SLOTS = 'it limits no running requests'
  return [
    {
      ...system,
      name: `any-llm ${VERSION}, SQLite`,
      atOnceMax: 12,
      remark:
        'its cap is checked with 12 requests at once, because it answered none of 20 within 40 s; so 20 % is the most that can be seen',
      lacks: { slots: NO_SLOTS, store: 'its store is a file of the process' },
    },
    {
      ...system,
      name: `any-llm ${VERSION}, PostgreSQL`,
      remark:
        'two requests of one user at once end only with their clients: one waits in the database for the row that the other has locked, on the thread that has to go on with the other',
      lacks: { slots: NO_SLOTS },
      startStore: aPostgres,
    },
  ]
}

async function start(program: string, terms: Terms): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-governed-'))
  const port = await freePort()
  const file = join(folder, 'config.yaml')
  writeFileSync(file, JSON.stringify(configuration(folder, port, terms))) // JSON is YAML as well.
  const started = startProcess({
    name: 'any-llm',
    core: MEASURED_CORE,
    program,
    arguments: ['serve', '--config', file],
    outputFile: join(folder, 'output.log'),
    directory: folder,
  })
  const serving = await untilServing(started, { folder, port, healthPath: '/health' })
  const [url = ''] = serving.urls
  const { requestsMax } = terms
  const budget =
    requestsMax === undefined
      ? {}
      : await ask(url, 'POST', '/v1/budgets', { max_budget: requestsMax * ANSWER_USD })
  await ask(url, 'POST', '/v1/users', { user_id: USER, budget_id: budget.budget_id })
  const { id, key } = await ask(url, 'POST', '/v1/keys', { user_id: USER })
  return {
    ...serving,
    key: String(key),
    model: MODEL,
    async kill() {
      await serving.stop()
      return await start(program, terms)
    },
    // It refuses to delete a key that was used.
    async revoke() {
      await ask(url, 'PATCH', `/v1/keys/${id}`, { is_active: false })
    },
    async spent() {
      return Number((await ask(url, 'GET', `/v1/users/${USER}`)).spend)
    },
  }
}

function configuration(folder: string, port: number, { upstreamUrl, store }: Terms) {
  const price = {
    input_price_per_million: PRICE.input,
    output_price_per_million: PRICE.output,
  }
  return {
    database_url:
      store?.url.replace('postgres:', 'postgresql+psycopg2:') ?? `sqlite:///${join(folder, 'db')}`,
    ...{ host: '127.0.0.1', port, master_key: MASTER },
    providers: { openai: { api_key: 'none', api_base: `${upstreamUrl}/v1` } },
    pricing: { [MODEL]: price },
  }
}

type Fields = Readonly<Record<string, unknown>>

async function ask(url: string, method: string, path: string, body?: object): Promise<Fields> {
  const headers = { authorization: `Bearer ${MASTER}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(url + path, { method, headers, ...sent })
  const text = await response.text()
  if (!response.ok) throw new Error(`any-llm refused ${method} ${path}: ${text}`)
  return text === '' ? {} : JSON.parse(text)
}
