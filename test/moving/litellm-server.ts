/** A real LiteLLM with its database: installed from the registries of Python and Node into a folder of the user's cache. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../helpers/free-port.ts'
import { collectOutput, isOver, stop, untilExit } from '../helpers/gateway-process.ts'
import { answers, until } from '../helpers/until.ts'
import type { PostgresServer } from '../helpers/vector-stores/postgres-server.ts'

export interface Litellm {
  readonly url: string
  stop(): Promise<void>
}

const VERSION = '1.108.7'
const PRISMA = '5.17.0'
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gw-test')
const HOME = join(CACHE, `litellm-${VERSION}`)
const NPM = join(HOME, 'prisma')
const SECONDS_MAX = 240
const run = promisify(execFile)

/** Resolves once it answers. Its tables are made by its own migrations. */
export async function startLitellm(config: string, postgres: PostgresServer): Promise<Litellm> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-litellm-'))
  const environment = { ...process.env, ...(await prepare(folder)) }
  await migrate(postgres)
  await writeFile(join(folder, 'config.yaml'), config)
  const url = new URL(postgres.url)
  url.password = postgres.password
  const port = await freePort()
  const settings = ['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1']
  const child = spawn(join(HOME, 'bin/litellm'), [...settings, '--port', String(port)], {
    env: {
      ...environment,
      DATABASE_URL: url.href,
      DISABLE_SCHEMA_UPDATE: 'true',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      // Seconds between writes of what keys have spent.
      PROXY_BATCH_WRITE_AT: '1',
    },
  })
  const output = collectOutput(child)
  const exited = untilExit(child, folder)
  const address = `http://127.0.0.1:${port}`
  const isReady = () => isOver(child) || answers(`${address}/health/readiness`)
  await until('LiteLLM answers', isReady, SECONDS_MAX).catch(() => {})
  if (isOver(child) || !(await answers(`${address}/health/readiness`))) {
    await stop(child, exited)
    throw new Error(`LiteLLM did not start:\n${output()}`)
  }
  return { url: address, stop: () => stop(child, exited) }
}

/** Returns the variables with which LiteLLM finds the engine of its database client. */
async function prepare(folder: string): Promise<Record<string, string>> {
  const engine = join(folder, 'query-engine')
  const program = join(import.meta.dirname, 'prisma-engine.ts')
  await writeFile(engine, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  await chmod(engine, 0o755)
  const variables = {
    PATH: `${join(HOME, 'bin')}:${process.env.PATH}`,
    GW_PRISMA: NPM,
    PRISMA_BINARY_CACHE_DIR: NPM,
    PRISMA_QUERY_ENGINE_BINARY: engine,
    PRISMA_SCHEMA_ENGINE_BINARY: engine,
  }
  if (!existsSync(join(HOME, 'installed'))) await install(variables)
  return variables
}

async function install(variables: Readonly<Record<string, string>>): Promise<void> {
  await rm(HOME, { recursive: true, force: true })
  await mkdir(NPM, { recursive: true })
  await run('python3', ['-m', 'venv', HOME])
  const packages = [`litellm[proxy]==${VERSION}`, 'prisma==0.15.0']
  await run(join(HOME, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages])
  await writeFile(join(NPM, 'package.json'), '{"private":true}')
  const parts = ['prisma', '@prisma/client', '@prisma/adapter-pg'].map((one) => `${one}@${PRISMA}`)
  await run(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', 'pg@8.11.3', ...parts],
    {
      cwd: NPM,
    },
  )
  const [schema = ''] = globSync(
    join(HOME, 'lib/python3*/site-packages/litellm/proxy/schema.prisma'),
  )
  const own = join(NPM, 'schema.prisma')
  const text = await readFile(schema, 'utf8')
  await writeFile(own, text.replace(/binaryTargets = .*/, 'binaryTargets = ["native"]'))
  await run(join(HOME, 'bin/prisma'), ['generate', '--schema', own], {
    env: { ...process.env, ...variables },
  })
  await writeFile(join(HOME, 'installed'), '')
}

async function migrate(postgres: PostgresServer): Promise<void> {
  const pattern = 'lib/python3*/site-packages/litellm_proxy_extras/migrations/*/migration.sql'
  for (const file of globSync(join(HOME, pattern)).toSorted())
    await postgres.ask(await readFile(file, 'utf8'))
}
