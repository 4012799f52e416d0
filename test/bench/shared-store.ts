/**
 * Governed requests with counters of this process and with counters in Redis, for one tenant and for 1,000 by Zipf's law,
 * over one replica and over three: `node test/bench/shared-store.ts [OTHER_TREE] [ROUNDS]` writes `shared-store.md`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../helpers/free-port.ts'
import { readProcessorTime } from './consumption.ts'
import { crowd, governed, keyOf, PLENTY, record, startGateway } from './gateway.ts'
import { failuresOf, type LoadOptions, runLoad } from './load.ts'
import { interval, median } from './medians.ts'
import type { Process } from './processes.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import { table } from './report.ts'
import { startUpstream } from './rig.ts'
import { compilePrograms, describeMachine } from './tools.ts'

const REPLICAS = 3
const TENANTS = 1_000
const CONNECTIONS = 63
const WARM_UP_SECONDS = 6
const CLOSED_SECONDS = 3
const OPEN_SECONDS = 5
const OPEN_RATE = 1_000

interface Figures {
  readonly perSecond: number
  readonly cpuUs: number
  readonly redisUs: number
  readonly commands: number
  readonly p50Us: number
  readonly p99Us: number
  readonly openCommands: number
}

const ROWS: readonly (readonly [keyof Figures, string, number])[] = [
  ['perSecond', 'requests/s, closed loop', 0],
  ['cpuUs', 'gateway, CPU µs a request', 1],
  ['redisUs', 'Redis, CPU µs a request', 2],
  ['commands', 'commands a request', 3],
  ['p50Us', 'p50 µs at 1,000/s', 0],
  ['p99Us', 'p99 µs at 1,000/s', 0],
  ['openCommands', 'commands a request at 1,000/s', 3],
]

interface Replica extends Process {
  readonly port: number
}

/** The bucket of a tenant with little more room than the requests that it sends at first. */
const EXACT = { tenant: 'exact', requests_per_minute: 1, burst: 102_100 }
const FIRST = 100_000
const THEN = 10_000

const [other, rounds = '5'] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '../..')
const directory = mkdtempSync(join(tmpdir(), 'gw-shared-store-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const programs = compilePrograms(import.meta.dirname)
const started: Process[] = []
const keysFile = join(directory, 'keys')
const names = Array.from({ length: TENANTS }, (_, index) => `t${index + 1}`)
writeFileSync(keysFile, names.map((name) => `${keyOf(name)}\n`).join(''))

const HEAD = [
  '# Counters in Redis',
  '',
  `\`node test/bench/shared-store.ts [OTHER_TREE] [ROUNDS]\` on ${new Date().toISOString().slice(0, 10)}. Each figure is the median of ${rounds} rounds, with the`,
  'interval that has 95 %; the columns take turns within a round. All replicas share one core, the load, the upstream and',
  'Redis the other. Of 1,000 tenants, tenant n sends 1/n as many requests as the first.',
  '',
]

try {
  const redis = await startRedis(directory)
  started.push(redis)
  const upstreamPort = await freePort()
  const { upstream: upstreamProgram } = programs
  const silent = { eventsPerStream: 10, eventIntervalMs: 0, idleStreams: false }
  started.push(await startUpstream({ upstreamProgram, directory, ...silent }, upstreamPort))
  await measureAll(redis, upstreamPort)
} finally {
  for (const one of started.reverse()) await one.stop()
}

async function measureAll(redis: BenchRedis, upstreamPort: number): Promise<void> {
  const columns: Record<string, readonly Replica[]> = {
    alone: await startReplicas('alone', { tree: root, upstreamPort }),
    ...(other !== undefined && {
      'Redis, before': await startReplicas('before', { tree: resolve(other), upstreamPort, redis }),
    }),
    'Redis, now': await startReplicas('now', { tree: root, upstreamPort, redis }),
  }
  const lines: string[] = []
  for (const tenants of [1, TENANTS]) {
    for (const count of [1, REPLICAS]) {
      const figures = Object.fromEntries(
        Object.keys(columns).map((name): [string, Figures[]] => [name, []]),
      )
      for (let round = 0; round <= Number(rounds); round++) {
        for (const [name, replicas] of Object.entries(columns)) {
          const one = await measure(replicas.slice(0, count), {
            redis,
            tenants,
            isWarmUp: round === 0,
          })
          if (round > 0) figures[name]?.push(one)
        }
      }
      lines.push(...section(tenants, count, figures))
    }
  }
  lines.push(...(await measureRefusals(columns['Redis, now'] ?? [], redis)))
  const text = [...HEAD, ...describeMachine(root), '', ...lines].join('\n')
  writeFileSync(join(import.meta.dirname, 'shared-store.md'), `${text}\n`)
  console.log(text)
}

function section(tenants: number, replicas: number, figures: Record<string, Figures[]>): string[] {
  const [alone = []] = Object.values(figures)
  const rows = ROWS.map(([name, label, digits]) => [
    label,
    ...Object.values(figures).map((all) => {
      const { low, middle, high } = interval(all.map((one) => one[name]))
      return `${middle.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`
    }),
  ])
  const shares = Object.values(figures).map((all) =>
    median(
      all.map((one, round) => one.perSecond / (alone[round]?.perSecond ?? Number.NaN)),
    ).toFixed(2),
  )
  const title = `## ${tenants.toLocaleString('en')} tenant${tenants === 1 ? '' : 's'}, ${replicas} replica${replicas === 1 ? '' : 's'}`
  return [
    title,
    '',
    ...table(['', ...Object.keys(figures)], [...rows, ['requests/s of alone', ...shares]]),
    '',
  ]
}

async function startReplicas(
  name: string,
  { tree, upstreamPort, redis }: { tree: string; upstreamPort: number; redis?: BenchRedis },
): Promise<Replica[]> {
  const url = redis?.urls.tcp
  const shared = url && { backend: 'redis', redis: { url, timeout_ms: 5_000, key_prefix: name } }
  const many = crowd(TENANTS)
  const limits = {
    ...many.rate_limits,
    tenants: [...many.rate_limits.tenants, { ...PLENTY, ...EXACT }],
  }
  const keys = [...many.api_keys, record(EXACT.tenant, keyOf(EXACT.tenant))]
  const all: Replica[] = []
  for (let index = 0; index < REPLICAS; index++) {
    const port = await freePort()
    const gateway = await startGateway({
      name: `${name}-${index}`,
      main: join(tree, 'dataplane/main.ts'),
      root: tree,
      directory: join(directory, `${name}-${index}`),
      upstreamPort,
      port,
      metricsPort: await freePort(),
      adminPort: await freePort(),
      settings: { ...governed(), ...many, api_keys: keys, rate_limits: { ...limits, ...shared } },
    })
    started.push(gateway)
    all.push({ ...gateway, port })
  }
  return all
}

interface Measuring {
  readonly redis: BenchRedis
  readonly tenants: number
  readonly isWarmUp: boolean
}

async function measure(
  replicas: readonly Replica[],
  { redis, tenants, isWarmUp }: Measuring,
): Promise<Figures> {
  const base = {
    program: programs.load,
    port: replicas.map(({ port }) => port),
    connections: CONNECTIONS,
    ...(tenants > 1 && { keysFile }),
  }
  const closed = await loaded(replicas, redis, {
    ...base,
    seconds: isWarmUp ? WARM_UP_SECONDS : CLOSED_SECONDS,
  })
  const open = await loaded(replicas, redis, {
    ...base,
    seconds: isWarmUp ? 1 : OPEN_SECONDS,
    rate: OPEN_RATE,
  })
  const { perSecond, cpuUs, redisUs, commands } = closed
  return {
    perSecond,
    cpuUs,
    redisUs,
    commands,
    p50Us: open.p50Us,
    p99Us: open.p99Us,
    openCommands: open.commands,
  }
}

/** Three replicas fill one bucket: how many requests were refused while there was room, and how many admitted in all. */
async function measureRefusals(replicas: readonly Replica[], redis: BenchRedis): Promise<string[]> {
  const file = join(directory, 'exact')
  writeFileSync(file, `${keyOf(EXACT.tenant)}\n`)
  const ask = (requests: number) =>
    runLoad({
      program: programs.load,
      port: replicas.map(({ port }) => port),
      connections: CONNECTIONS,
      ...{ keysFile: file, requests, seconds: 300 },
    })
  const before = await calls(redis)
  const first = await ask(FIRST)
  const then = await ask(THEN)
  const admitted = first.requests - first.non2xx + then.requests - then.non2xx
  const number = (value: number) => value.toLocaleString('en')
  return [
    `## A bucket of ${number(EXACT.burst)} requests, ${REPLICAS} replicas`,
    '',
    ...table(
      ['', 'sent', 'refused'],
      [
        ['while more than 2 % is left', number(first.requests), number(first.non2xx)],
        ['then', number(then.requests), number(then.non2xx)],
      ],
    ),
    '',
    `Admitted: ${number(admitted)}, with ${number((await calls(redis)) - before)} commands.`,
    '',
  ]
}

async function loaded(replicas: readonly Replica[], redis: BenchRedis, options: LoadOptions) {
  const cpuOf = (pid: number) => readProcessorTime(pid).runNs / 1_000
  const gateways = () => replicas.reduce((sum, { pid }) => sum + cpuOf(pid), 0)
  const before = { gateways: gateways(), redis: cpuOf(redis.pid), calls: await calls(redis) }
  const result = await runLoad(options)
  if (failuresOf(result) > 0) throw new Error(`Requests failed: ${JSON.stringify(result)}`)
  const { requests, requestsPerSecond: perSecond, p50Us, p99Us } = result
  return {
    ...{ perSecond, p50Us, p99Us },
    cpuUs: (gateways() - before.gateways) / requests,
    redisUs: (cpuOf(redis.pid) - before.redis) / requests,
    commands: ((await calls(redis)) - before.calls) / requests,
  }
}

/** The commands that scripts do not send. */
async function calls({ urls }: BenchRedis): Promise<number> {
  const client = new Redis(urls.socket.replace('unix://', ''))
  try {
    const text = await client.info('commandstats')
    const counts = text.matchAll(/^cmdstat_(?:eval|evalsha|publish|ping):calls=(\d+)/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  } finally {
    client.disconnect()
  }
}
