/**
 * Prisma's query engine for LiteLLM's database client: the WebAssembly of Prisma's npm package, served as its binary is.
 * The binary comes from a server of Prisma alone; this needs nothing but the registries of packages.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { isRecord } from '../../dataplane/json/values.ts'
import { jsonFieldsIn, operationsIn } from './prisma-queries.ts'

interface Engine {
  connect(trace: string): Promise<void>
  query(body: string, trace: string, transaction?: string): Promise<string>
  startTransaction(options: string, trace: string): Promise<string>
  commitTransaction(id: string, trace: string): Promise<string>
  rollbackTransaction(id: string, trace: string): Promise<string>
}

const TRACE = '{}'
const { GW_PRISMA = '', DATABASE_URL = '', PRISMA_DML_PATH = '' } = process.env
const SCHEMA = PRISMA_DML_PATH === '' ? '' : readFileSync(PRISMA_DML_PATH, 'utf8')
const JSON_FIELDS = jsonFieldsIn(SCHEMA)
/** Types of Postgres. */
const [LIST_OF_NAMES, LIST_OF_TEXTS] = [1003, 1009]

interface Adapter {
  performIO(query: unknown): Promise<{ value?: { fields: { dataTypeID: number }[] } }>
}

/** Its lists of names are lists of texts, which the driver knows. */
function withListsOfNames(adapter: Adapter): Adapter {
  const perform = adapter.performIO.bind(adapter)
  adapter.performIO = async (query) => {
    const result = await perform(query)
    for (const field of result.value?.fields ?? [])
      if (field.dataTypeID === LIST_OF_NAMES) field.dataTypeID = LIST_OF_TEXTS
    return result
  }
  return adapter
}

/** The types of Node lack it. */
interface WebAssembly {
  compile(bytes: Uint8Array): Promise<object>
  instantiate(module: object, imports: object): Promise<{ readonly exports: object }>
}

/** The engine reaches Postgres through the driver of Node. */
async function startEngine(): Promise<Engine> {
  const bring = createRequire(`${GW_PRISMA}/package.json`)
  const runtime = bring('@prisma/client/runtime/query_engine_bg.postgresql.js')
  const { bindAdapter } = bring('@prisma/driver-adapter-utils')
  const { PrismaPg } = bring('@prisma/adapter-pg')
  const { Pool } = bring('pg')
  const file = bring.resolve('@prisma/client/runtime/query_engine_bg.postgresql.wasm')
  const { WebAssembly: wasm } = globalThis as unknown as { readonly WebAssembly: WebAssembly }
  const instance = await wasm.instantiate(await wasm.compile(readFileSync(file)), {
    './query_engine_bg.js': runtime,
  })
  runtime.__wbg_set_wasm(instance.exports)
  const pool = new Pool({ connectionString: DATABASE_URL, max: 10 })
  pool.on('error', () => {})
  const settings = {
    datamodel: SCHEMA,
    logLevel: 'error',
    logQueries: false,
    datasourceOverrides: {},
    env: { DATABASE_URL },
    configDir: '.',
    engineProtocol: 'json',
    ignoreEnvVarErrors: true,
  }
  const engine: Engine = new runtime.QueryEngine(
    settings,
    () => {},
    bindAdapter(withListsOfNames(new PrismaPg(pool))),
  )
  await engine.connect(TRACE)
  return engine
}

/** A value of the engine's JSON as GraphQL has it: `{$type, value}` becomes the value. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isRecord(value)) return value
  if (typeof value.$type === 'string') return value.value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}

interface Rows {
  readonly types: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

/** The binary sends JSON as values, WebAssembly as texts. */
function rowsOf(result: unknown): unknown {
  if (!isRecord(result)) return result
  const { types, rows } = result as unknown as Rows
  const isJson = (value: unknown, index: number): value is string =>
    types[index] === 'json' && typeof value === 'string'
  const parsed = rows.map((row) =>
    row.map((value, index) => (isJson(value, index) ? JSON.parse(value) : value)),
  )
  return { ...result, rows: parsed }
}

/** The answers of one GraphQL document under the names that it chose. */
async function answered(engine: Engine, query: string, transaction?: string): Promise<object> {
  const data: Record<string, unknown> = {}
  for (const { alias, isRaw, body } of operationsIn(query, JSON_FIELDS)) {
    const answer = JSON.parse(await engine.query(JSON.stringify(body), TRACE, transaction))
    if (answer.errors !== undefined) return answer
    const [result] = Object.values(answer.data)
    data[alias] = isRaw ? rowsOf(result) : plain(result)
  }
  return { data }
}

async function answeredBatch(engine: Engine, queries: readonly string[]): Promise<object> {
  const batch = queries.flatMap((query) => operationsIn(query, JSON_FIELDS)).map(({ body }) => body)
  const body = { batch, transaction: { isolationLevel: undefined } }
  return JSON.parse(await engine.query(JSON.stringify(body), TRACE))
}

async function handle(engine: Engine, request: IncomingMessage): Promise<object> {
  const { url = '', headers } = request
  const body = await text(request)
  const [, id = '', end] = /^\/transaction\/([^/]+)\/(commit|rollback)$/.exec(url) ?? []
  if (url === '/status') return { status: 'ok' }
  if (url === '/transaction/start') return JSON.parse(await engine.startTransaction(body, TRACE))
  if (end === 'commit') return JSON.parse(await engine.commitTransaction(id, TRACE))
  if (end === 'rollback') return JSON.parse(await engine.rollbackTransaction(id, TRACE))
  const { query, batch } = JSON.parse(body)
  const transaction = headers['x-transaction-id']
  if (batch === undefined) return answered(engine, query, transaction?.toString())
  return answeredBatch(
    engine,
    batch.map((one: { query: string }) => one.query),
  )
}

async function main(): Promise<void> {
  if (process.argv.includes('--version')) {
    process.stdout.write('query-engine wasm\n')
    return
  }
  const engine = await startEngine()
  const answer = (response: ServerResponse, status: number, value: object) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }
  const server = createServer((request, response) => {
    handle(engine, request).then(
      (value) => answer(response, 200, value),
      (error: unknown) => {
        process.stderr.write(`prisma-engine: ${request.url}: ${String(error)}\n`)
        answer(response, 500, { errors: [{ error: String(error) }] })
      },
    )
  })
  server.listen(Number(process.argv[process.argv.indexOf('-p') + 1]), '127.0.0.1')
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))
}

await main()
