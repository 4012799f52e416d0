/** Measures other gateways beside this one, in one run: `node test/bench/peers.ts`. Brings them first. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { readProcessorTime, readResidentBytes } from './consumption.ts'
import { governed, startGateway } from './gateway.ts'
import { failuresOf, type LoadOptions, runLoad } from './load.ts'
import { startNginx } from './nginx.ts'
import { bringLiteLlm, bringPortkey, type Peer } from './peer-programs.ts'
import { LOAD_CORE, type Process, startProcess, untilReady } from './processes.ts'
import { compilePrograms, describeMachine, missingTools } from './tools.ts'

const CONNECTIONS = 64
const SECONDS = 5
const ROUNDS = 3
const EVENTS_PER_STREAM = 100

interface Target {
  readonly name: string
  readonly port: number
  readonly pid: number
  readonly headers?: Readonly<Record<string, string>>
}

interface Result {
  readonly requestsPerSecond: number
  readonly cpuUs: number
  readonly p99Us: number
  readonly bytes: number
}

const root = resolve(import.meta.dirname, '../..')
const problems = missingTools()
if (problems.length > 0) {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}
const peers = [bringPortkey(), bringLiteLlm()]
const directory = mkdtempSync(join(tmpdir(), 'gw-peers-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const { load, upstream } = compilePrograms(import.meta.dirname)
const processes: Process[] = []
try {
  const targets = await startTargets()
  const table = markdown(targets, await measure(targets))
  console.log(table)
  writeFileSync(join(import.meta.dirname, 'peers.md'), table)
} finally {
  for (const started of processes.reverse()) await started.stop()
}

async function startTargets(): Promise<Target[]> {
  const next = () => freePort()
  const upstreamPort = await next()
  const served = startProcess({
    name: 'upstream',
    core: LOAD_CORE,
    program: upstream,
    arguments: [String(upstreamPort), String(EVENTS_PER_STREAM), '0'],
    outputFile: join(directory, 'upstream.log'),
  })
  processes.push(served)
  await untilReady(served, `http://127.0.0.1:${upstreamPort}/health`)
  const [port, streamPort] = [await next(), await next()]
  const nginx = await startNginx({
    directory: join(directory, 'nginx'),
    ...{ port, streamPort, upstreamPort, connectionsMax: 1_024 },
  })
  processes.push(nginx)
  const gatewayPort = await next()
  const gateway = await startGateway({
    name: 'gw',
    main: 'dataplane/main.ts',
    root,
    directory: join(directory, 'gw'),
    ...{ upstreamPort, port: gatewayPort, metricsPort: await next(), adminPort: await next() },
    settings: governed(),
  })
  processes.push(gateway)
  const own = [
    { name: 'nginx', port, pid: nginx.workerPid },
    { name: 'gw, governed', port: gatewayPort, pid: gateway.pid },
  ]
  const others = []
  for (const peer of peers) others.push(await startPeer(peer, await next(), upstreamPort))
  return [...own, ...others]
}

async function startPeer(peer: Peer, port: number, upstreamPort: number): Promise<Target> {
  const folder = join(directory, peer.name)
  mkdirSync(folder)
  const started = peer.start({ folder, port, upstream: `http://127.0.0.1:${upstreamPort}/v1` })
  processes.push(started.process)
  await untilReady(started.process, `http://127.0.0.1:${port}${peer.healthPath}`)
  return { name: peer.title, port, pid: started.process.pid, headers: started.headers }
}

/** Round by round over all, so that what disturbs the machine disturbs each; the median counts. */
async function measure(targets: readonly Target[]): Promise<Result[]> {
  const results: Result[][] = targets.map(() => [])
  for (const target of targets) await runLoad(optionsOf(target))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, target] of targets.entries()) results[index]?.push(await measureOne(target))
  }
  return results.map(
    (all) =>
      all.toSorted((one, other) => one.requestsPerSecond - other.requestsPerSecond)[
        Math.floor(ROUNDS / 2)
      ] as Result, // There are as many as rounds.
  )
}

async function measureOne(target: Target): Promise<Result> {
  const before = readProcessorTime(target.pid)
  const result = await runLoad(optionsOf(target))
  const failures = failuresOf(result)
  if (failures > 0) throw new Error(`${target.name}: ${failures} requests failed`)
  return {
    requestsPerSecond: result.requestsPerSecond,
    cpuUs: (readProcessorTime(target.pid).runNs - before.runNs) / 1e3 / result.requests,
    p99Us: result.p99Us,
    bytes: readResidentBytes(target.pid),
  }
}

function optionsOf({ port, headers }: Target): LoadOptions {
  const all = { program: load, port, seconds: SECONDS, connections: CONNECTIONS }
  return headers === undefined ? all : { ...all, headers }
}

function markdown(targets: readonly Target[], results: readonly Result[]): string {
  const whole = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 0 })
  const nginx = results[0]?.requestsPerSecond ?? Number.NaN
  const rows = results.map(({ requestsPerSecond, cpuUs, p99Us, bytes }, index) => {
    const cells = [whole(requestsPerSecond), (requestsPerSecond / nginx).toFixed(3)]
    cells.push(whole(cpuUs), whole(p99Us), whole(bytes / 1_048_576))
    return `| ${targets[index]?.name} | ${cells.join(' | ')} |`
  })
  return [
    '# Beside other gateways',
    '',
    `Made by \`make bench-peers\`: one core each, ${CONNECTIONS} connections, closed loop, ` +
      `1 KB requests, median of ${ROUNDS} rounds.`,
    'gw has key, rate, concurrency, both budgets, metrics, traces and the access log on; ' +
      'LiteLLM its key; Portkey has none of them.',
    '',
    ...describeMachine(root).map((line) => `- ${line}`),
    '',
    '| | requests/s | ratio to nginx | CPU µs per request | p99 µs | RSS MiB |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...rows,
    '',
  ].join('\n')
}
