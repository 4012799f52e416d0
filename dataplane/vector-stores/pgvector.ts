/** Postgres with pgvector: rows of a table, nearest by cosine. Names are quoted, values are parameters. */
import { Socket, type TcpNetConnectOpts } from 'node:net'
import type { Pool, PoolClient } from 'pg'
import { AddressDeniedError, checkedLookup, isDeniedHost } from '../connection/addresses.ts'
import { secureContextOf } from '../connection/secure-context.ts'
import { parsed, recordOf } from '../json/values.ts'
import type { Section } from '../schema/index.ts'
import type { Found, OpenVectorStore, Search, StoreSection } from './contract.ts'
import { type Column, columnsOf, searchOf, type Table, tableOf } from './pgvector-query.ts'

const CONNECTIONS = 8
const IDLE_MS = 30_000
const PORT = 5432

export const openPgvector: OpenVectorStore = (section, whole) => new Pgvector(section, whole)

class Pgvector {
  readonly #section: StoreSection
  readonly #whole: Section
  #pool: Promise<Pool> | undefined
  #table: Table | undefined
  readonly #prepared = new WeakSet<PoolClient>()

  constructor(section: StoreSection, whole: Section) {
    this.#section = section
    this.#whole = whole
  }

  async search(search: Search, signal: AbortSignal): Promise<readonly Found[]> {
    this.#pool ??= openPool(this.#section, this.#whole)
    const pool = await this.#pool
    const client = await pool.connect()
    const use = new Use(client)
    const abort = () => use.end(true)
    signal.addEventListener('abort', abort, { once: true })
    try {
      signal.throwIfAborted()
      const found = await this.#ask(client, search)
      use.end(false)
      return found
    } catch (error) {
      // The next search reads the columns of the table again, because they may have changed.
      this.#table = undefined
      use.end(true)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  close(): void {
    void this.#pool?.then((pool) => pool.end()).catch(() => undefined)
  }

  async #ask(client: PoolClient, search: Search): Promise<Found[]> {
    if (!this.#prepared.has(client)) await this.#prepare(client)
    this.#table ??= await this.#read(client)
    const { rows } = await client.query(searchOf(this.#table, this.#section, search))
    return rows.map(foundOf)
  }

  async #prepare(client: PoolClient): Promise<void> {
    const { timeout_ms } = this.#section
    await client.query(
      `SET statement_timeout = ${timeout_ms}; SET default_transaction_read_only = on`,
    )
    // From pgvector 0.8 on; without it, an index with a filter finds too few rows.
    await client.query('SET hnsw.iterative_scan = strict_order').catch(ignore)
    this.#prepared.add(client)
  }

  async #read(client: PoolClient): Promise<Table> {
    const { rows } = await client.query<Column>(columnsOf(this.#section.collection))
    return tableOf(this.#section, rows)
  }
}

/** One client of the pool, which is released once. */
class Use {
  readonly #client: PoolClient
  #isOver = false

  constructor(client: PoolClient) {
    this.#client = client
    // A broken connection fails its query; without a listener it would end the process, too.
    client.on('error', ignore)
  }

  /** A client with a running query is closed. */
  end(isBroken: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#client.off('error', ignore)
    if (isBroken) this.#client.on('error', ignore)
    this.#client.release(isBroken)
  }
}

function ignore(): void {}

/** The package is loaded with the first search, because most gateways have no such store. */
async function openPool(section: StoreSection, whole: Section): Promise<Pool> {
  const { Pool } = await import('pg')
  const url = new URL(section.endpoint)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isDeniedHost(host)) throw new AddressDeniedError(host, host)
  const user = decodeURIComponent(url.username) || 'postgres'
  const pool = new Pool({
    host,
    port: Number(url.port || PORT),
    user,
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    // Set explicitly, so that no variable or file of the host replaces it.
    password: section.api_key ?? decodeURIComponent(url.password),
    ssl: sslOf(url, host, whole),
    stream: () => new CheckedSocket(),
    max: CONNECTIONS,
    connectionTimeoutMillis: section.timeout_ms,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    application_name: 'gw',
    // The driver would parse documents itself.
    types: { getTypeParser: () => String },
  })
  pool.on('error', ignore)
  return pool
}

/** Certificates are always verified; `sslmode` absent or `disable` is a connection without TLS. */
function sslOf(url: URL, host: string, { tls }: Section) {
  const mode = url.searchParams.get('sslmode') ?? 'disable'
  if (mode === 'disable') return false
  // Without the host, the certificate of an address would be compared with "localhost".
  return { secureContext: secureContextOf(tls), rejectUnauthorized: true, host }
}

/** Connects only to allowed addresses. */
class CheckedSocket extends Socket {
  override connect(...args: unknown[]): this {
    const [port, host] = args
    if (typeof port !== 'number' || typeof host !== 'string')
      throw new Error('expected a port and a host')
    const options: TcpNetConnectOpts = { port, host, lookup: checkedLookup() }
    return super.connect(options)
  }
}

function foundOf(row: unknown): Found {
  const { id, score, payload } = recordOf(row)
  return { id: String(id), score: Number(score), payload: recordOf(parsed(String(payload))) }
}
