/** Measures other clients while one caller or one upstream attacks: requests/s, p99 and the gateway's memory, as a table. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { aKey } from '../helpers/a-key.ts'
import { ATTACKS, type Attack, type Orders } from '../helpers/attack-list.ts'
import { type GatewayProcess, startGateway } from '../helpers/gateway-process.ts'
import { interval, median } from './medians.ts'

const SECONDS = Number(process.argv[2] ?? 10)
/** In turns with and without: other work on the machine disturbs both alike. */
const TURN_SECONDS = 0.5
const CONNECTIONS = 4
const HEAP_MEBIBYTES = 1024
const BODY = JSON.stringify({
  model: 'chat',
  messages: [{ role: 'user', content: 'x'.repeat(900) }],
})

interface Figures {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
  /** Milliseconds of the gateway for each request. */
  readonly processorMs: number
}

const KEYS = {
  victim: aKey({ id: 'victim', tenant: 'victim' }),
  limited: aKey({ id: 'limited', tenant: 'limited' }),
  two: aKey({ id: 'two', tenant: 'two' }),
  plain: aKey({ id: 'plain', tenant: 'plain' }),
  routeless: aKey({ id: 'routeless', tenant: 'routeless', routes: ['other'] }),
  scopeless: aKey({ id: 'scopeless', tenant: 'scopeless', scopes: ['models:list'] }),
}

function documentOf(upstream: string) {
  const one = { provider: 'openai', api_key: '${env:BENCH_KEY}' }
  const names = ['chat', 'other', 'event', 'list', 'deep']
  const open = { circuit_breaker: { failure_threshold: 10_000 }, timeout_seconds: 30 }
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      gateway: {},
      upstreams: names.map((name) => ({ name, model: name, endpoint: upstream, ...one, ...open })),
      routes: names.map((name) => ({ name, strategy: 'single', primary: name })),
      api_keys: Object.values(KEYS).map(({ record }) => record),
      rate_limits: {
        default: { requests_per_minute: 1_000_000, burst: 250_000, concurrent_requests: 64 },
        tenants: [
          { tenant: 'limited', requests_per_minute: 1, burst: 1 },
          { tenant: 'two', concurrent_requests: 2 },
        ],
      },
    },
  }
}

/** Closed loop on a few connections. */
async function measure(gateway: GatewayProcess, seconds: number): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const took: number[] = []
  let failed = 0
  const before = processorMs(gateway.pid)
  const endsAt = performance.now() + seconds * 1000
  const loops = Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() < endsAt) {
      const began = performance.now()
      const status = await ask(gateway, agent).catch(() => 0)
      took.push(performance.now() - began)
      if (status !== 200) failed++
    }
  })
  await Promise.all(loops)
  agent.destroy()
  const spent = processorMs(gateway.pid) - before
  took.sort((one, other) => one - other)
  const at = (share: number) =>
    took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0
  return {
    perSecond: took.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    failed,
    processorMs: spent / took.length,
  }
}

function ask({ url }: GatewayProcess, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${KEYS.victim.key}`,
    }
    const outgoing = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers })
    outgoing.on('response', (incoming) => {
      incoming.resume()
      incoming.on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    outgoing.end(BODY)
  })
}

/** `96 % (91 to 104)`: the ratio within the pairs of turns. */
function share(hurt: readonly number[], quiet: readonly number[]): string {
  const { low, middle, high } = interval(hurt.map((one, turn) => one / (quiet[turn] ?? 0)))
  const [a, b, c] = [middle, low, high].map((ratio) => (100 * ratio).toFixed(0))
  return `${a} % (${b} to ${c})`
}

/** The processor time of all its threads. */
function processorMs(pid: number): number {
  const place = `/proc/${pid}/stat`
  if (!existsSync(place)) return Number.NaN
  const fields = readFileSync(place, 'utf8').split(') ')[1]?.split(' ') ?? []
  // In hundredths of a second, for programs and for the system.
  return 10 * (Number(fields[11]) + Number(fields[12]))
}

/** Peak of the resident memory since the last reading. */
function takePeak(pid: number): number {
  const place = `/proc/${pid}`
  if (!existsSync(place)) return Number.NaN
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`${place}/status`, 'utf8'))?.[1])
  writeFileSync(`${place}/clear_refs`, '5')
  return Math.round(peak / 1024)
}

const ATTACKER = new URL('./attacker.ts', import.meta.url)

/** A process that takes an attack in place of the gateway. */
async function startSink(upstream: string) {
  const program = fileURLToPath(new URL('./attack-sink.ts', import.meta.url))
  const child = spawn(process.execPath, [program, upstream], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: `http://127.0.0.1:${String(port).trim()}`,
    async stop() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

async function run(attack: Attack, upstream: string): Promise<void> {
  const gateway = await startGateway({
    config: documentOf(upstream),
    env: { BENCH_KEY: 'k', NODE_OPTIONS: `--max-old-space-size=${HEAP_MEBIBYTES}` },
  })
  let isGone = false
  void gateway.exited.then(() => {
    isGone = true
  })
  try {
    await measure(gateway, 1)
    takePeak(gateway.pid)
    const { url } = gateway
    const keys = Object.fromEntries(Object.entries(KEYS).map(([name, { key }]) => [name, key]))
    const isOn = new Int32Array(new SharedArrayBuffer(4))
    const orders: Orders = { attack, url, keys, isOn }
    const attacker = new Worker(ATTACKER, { workerData: orders })
    const sink = await startSink(upstream)
    const isControlled = new Int32Array(new SharedArrayBuffer(4))
    const control: Orders = { attack, url: sink.url, keys, isOn: isControlled }
    const decoy = new Worker(ATTACKER, { workerData: control })
    const quiet: Figures[] = []
    const hurt: Figures[] = []
    const controlled: Figures[] = []
    for (let turn = 0; turn < SECONDS / TURN_SECONDS; turn++) {
      quiet.push(await measure(gateway, TURN_SECONDS))
      for (const [figures, flag] of [
        [hurt, isOn],
        [controlled, isControlled],
      ] as const) {
        Atomics.store(flag, 0, 1)
        await delay(200)
        figures.push(await measure(gateway, TURN_SECONDS))
        Atomics.store(flag, 0, 0)
        await delay(300)
      }
    }
    const peak = takePeak(gateway.pid)
    await Promise.all([attacker.terminate(), decoy.terminate(), sink.stop()])
    const of = (figures: readonly Figures[], name: keyof Figures) => figures.map((one) => one[name])
    const cells = [
      attack,
      median(of(quiet, 'perSecond')).toFixed(0),
      share(of(hurt, 'perSecond'), of(quiet, 'perSecond')),
      share(of(controlled, 'perSecond'), of(quiet, 'perSecond')),
      share(of(quiet, 'processorMs'), of(hurt, 'processorMs')),
      median(of(quiet, 'p99')).toFixed(1),
      share(of(hurt, 'p99'), of(quiet, 'p99')),
      share(of(controlled, 'p99'), of(quiet, 'p99')),
      `${peak} MiB`,
      isGone ? 'the gateway ended' : String(hurt.reduce((sum, { failed }) => sum + failed, 0)),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  } finally {
    await gateway.stop()
  }
}

const upstream = new Worker(new URL('./attack-upstream.ts', import.meta.url))
const port = await new Promise<number>((resolve) => upstream.once('message', resolve))
console.log(
  '| attack | requests/s without | with it | on a sink | processor time for them | p99 ms without | with it | on a sink | peak memory | failed |',
)
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |')
const chosen = process.argv.slice(3)
for (const attack of ATTACKS) {
  if (chosen.length === 0 || chosen.some((word) => attack.includes(word)))
    await run(attack, `http://127.0.0.1:${port}/v1`)
}
await upstream.terminate()
