/** A real Postgres with pgvector in a folder of the test. */
import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import type { StoredPassage } from './chroma-server.ts'
import { storePackages } from './programs.ts'

export interface PostgresServer {
  /** A connection string without the password, which every connection needs. */
  readonly url: string
  readonly password: string
  ask(text: string, values?: readonly unknown[]): Promise<readonly object[]>
  /** Replaces the table. */
  fill(table: string, passages: readonly StoredPassage[]): Promise<void>
  stop(): Promise<void>
}

/** Postgres refuses to run as root. */
const ANYBODY = 65_534
const PASSWORD = 'postgres-password-of-the-test'
const AS: SpawnOptions = process.getuid?.() === 0 ? { uid: ANYBODY, gid: ANYBODY } : {}

export async function startPostgres(): Promise<PostgresServer> {
  const programs = join(await storePackages(), 'pgserver/pginstall/bin')
  const folder = await mkdtemp(join(tmpdir(), 'gw-postgres-'))
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  if (AS.uid !== undefined) for (const one of [folder, data]) await chown(one, ANYBODY, ANYBODY)
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, PASSWORD, { mode: 0o644 })
  const quick = [
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--username=postgres',
    '--no-sync',
    '--no-instructions',
  ]
  const options = { ...AS, cwd: folder }
  await promisify(execFile)(join(programs, 'initdb'), [...quick, '-D', data], options)
  const port = await freePort()
  const settings = ['fsync=off', `listen_addresses=127.0.0.1`, `unix_socket_directories=${folder}`]
  const child = spawn(
    join(programs, 'postgres'),
    ['-D', data, '-p', String(port), ...settings.flatMap((one) => ['-c', one])],
    { ...options, stdio: 'ignore' },
  )
  const exited = once(child, 'exit')
  const connect = async () => {
    const place = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' }
    const client = new Client({ ...place, password: PASSWORD })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  let client: Client | undefined
  await until('Postgres answers', async () => {
    client = await connect().catch(() => undefined)
    return client !== undefined
  })
  const ask: PostgresServer['ask'] = async (text, values = []) =>
    (await (client as Client).query(text, [...values])).rows
  await ask('CREATE EXTENSION vector')
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    password: PASSWORD,
    ask,
    async fill(table, passages) {
      const [first] = passages
      await ask(`DROP TABLE IF EXISTS ${table}`)
      await ask(
        `CREATE TABLE ${table} (id text PRIMARY KEY, tenant text, content text, metadata jsonb, embedding vector(${first?.vector.length}))`,
      )
      for (const { id, tenant, text, source, vector } of passages) {
        const values = [id, tenant, text, { source, tenant }, JSON.stringify(vector)]
        await ask(`INSERT INTO ${table} VALUES ($1, $2, $3, $4, $5)`, values)
      }
    },
    async stop() {
      await client?.end()
      // Fast: open connections are closed.
      child.kill('SIGINT')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
