/**
 * Measures other gateways beside this one, in one run: `node test/bench/peers.ts [ROUNDS] [PEER ...]`. Brings them first;
 * prints only if there are fewer than three rounds or named peers. A peer that cannot be had is a row that says so.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { readResidentBytes } from './consumption.ts'
import { startGateway, VARIANTS } from './gateway.ts'
import { failuresOf, type LoadOptions } from './load.ts'
import { consume, type Reading } from './measure.ts'
import { startNginx } from './nginx.ts'
import { BRINGERS } from './peers/all.ts'
import type { Peer } from './peers/peer.ts'
import { type Process, untilReady } from './processes.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import { table } from './report.ts'
import { startUpstream } from './rig.ts'
import { compilePrograms, describeMachine, missingTools } from './tools.ts'

const CONNECTIONS = 64
const ROUNDS = 3
/** Columns of the benchmark that stand beside the peers. */
const OWN = ['governed', 'governed, counted exactly', 'governed, Redis']
const RATE = 1_000
/** A target that is slower in the closed loop would only queue in the open one. */
const OPEN_LOOP_FROM = 1.5 * RATE
const EVENTS_PER_STREAM = 100
const EVENT_INTERVAL_MS = 5
const MEBIBYTE = 1_048_576

interface Target {
  readonly name: string
  readonly port: number
  readonly streamPort: number
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
  /** It may fail, which is its result. */
  readonly isPeer: boolean
}

interface Row {
  readonly label: string
  /** The reading, and the highest and the lowest of its rounds if the spread matters. */
  readonly name: string
  readonly digits: number
  readonly spread?: boolean
}

const COLUMNS: readonly Row[] = [
  { label: 'requests/s', name: 'requestsPerSecond', digits: 0 },
  { label: 'to nginx', name: 'ratio', digits: 3, spread: true },
  { label: 'CPU µs/request', name: 'cpuUs', digits: 0, spread: true },
  { label: `p99 ms, ${CONNECTIONS} conn.`, name: 'closedP99Ms', digits: 1, spread: true },
  { label: 'p50 ms, 1,000/s', name: 'openP50Ms', digits: 2 },
  { label: 'p99 ms, 1,000/s', name: 'openP99Ms', digits: 1, spread: true },
  { label: 'CPU µs/event', name: 'eventUs', digits: 0, spread: true },
  { label: 'RSS MiB idle', name: 'idleMiB', digits: 0 },
  { label: 'RSS MiB load', name: 'loadMiB', digits: 0 },
]

const [given = String(ROUNDS), ...names] = process.argv.slice(2)
const rounds = Number(given)
const isWhole = rounds >= ROUNDS && names.length === 0
const seconds = isWhole ? 5 : 2
const root = resolve(import.meta.dirname, '../..')
const problems = [
  ...missingTools(),
  ...(rounds >= 1 ? [] : [`ROUNDS is ${given}; write a number of at least 1`]),
  ...names
    .filter((name) => !Object.hasOwn(BRINGERS, name))
    .map((name) => `${name} is not a peer; the peers are ${Object.keys(BRINGERS).join(', ')}`),
]
if (problems.length > 0) {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}
/** Peers that cannot be had or do not serve, and why. */
const absent = new Map<string, string>()
const peers = bringAll()
const directory = mkdtempSync(join(tmpdir(), 'gw-peers-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const { load, upstream } = compilePrograms(import.meta.dirname)
const processes: Process[] = []
try {
  const text = markdown(await measure(await startTargets()))
  console.log(text)
  if (isWhole) writeFileSync(join(import.meta.dirname, 'peers.md'), text)
} finally {
  for (const started of processes.reverse()) await started.stop()
}

function bringAll(): Peer[] {
  const wanted = names.length > 0 ? names : Object.keys(BRINGERS)
  return wanted.flatMap((name) => {
    try {
      return BRINGERS[name]?.() ?? []
    } catch (error) {
      leaveOut(name, error)
      return []
    }
  })
}

function leaveOut(name: string, error: unknown): void {
  console.error(`${name} is left out:`, error)
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  absent.set(name, line.replace(/[.;:]? *$/, ''))
}

async function startTargets(): Promise<Target[]> {
  const upstreamPort = await freePort()
  const settings = {
    upstreamProgram: upstream,
    directory,
    eventsPerStream: EVENTS_PER_STREAM,
    eventIntervalMs: EVENT_INTERVAL_MS,
    idleStreams: false,
  }
  processes.push(await startUpstream(settings, upstreamPort))
  const [port, streamPort] = [await freePort(), await freePort()]
  const nginx = await startNginx({
    directory: join(directory, 'nginx'),
    ...{ port, streamPort, upstreamPort, connectionsMax: 1_024 },
  })
  processes.push(nginx)
  const own: Target[] = [
    { name: 'nginx', port, streamPort, pid: nginx.workerPid, headers: {}, isPeer: false },
  ]
  const redis = await startRedis(directory)
  processes.push(redis)
  for (const column of OWN) own.push(await startOwn(column, redis, upstreamPort))
  const others: Target[] = []
  for (const peer of peers) {
    try {
      others.push(await startPeer(peer, upstreamPort))
    } catch (error) {
      leaveOut(peer.title, error)
    }
  }
  return [...own, ...others]
}

async function startOwn(column: string, redis: BenchRedis, upstreamPort: number): Promise<Target> {
  const name = `gw, ${column}`
  const port = await freePort()
  const gateway = await startGateway({
    name,
    main: 'dataplane/main.ts',
    root,
    directory: join(directory, name),
    ...{ upstreamPort, port, metricsPort: await freePort(), adminPort: await freePort() },
    settings: VARIANTS[column]?.(redis) ?? {},
  })
  processes.push(gateway)
  return { name, port, streamPort: port, pid: gateway.pid, headers: {}, isPeer: false }
}

async function startPeer(peer: Peer, upstreamPort: number): Promise<Target> {
  const folder = join(directory, peer.name)
  mkdirSync(folder)
  const [port, secondPort] = [await freePort(), await freePort()]
  const started = peer.start({ folder, port, secondPort, upstreamPort })
  processes.push(started.process)
  await untilReady(started.process, `http://127.0.0.1:${port}${peer.healthPath}`)
  const { pid } = started.process
  return {
    name: peer.title,
    port,
    streamPort: port,
    pid,
    headers: started.headers ?? {},
    isPeer: true,
  }
}

/** Round by round over all, so that a disturbance affects each. */
async function measure(targets: readonly Target[]): Promise<Map<string, Reading[]>> {
  const readings = new Map<string, Reading[]>()
  for (const target of targets) {
    readings.set(target.name, [{ idleMiB: readResidentBytes(target.pid) / MEBIBYTE }])
    await consume(target, optionsOf(target))
  }
  for (let round = 0; round < rounds; round++) {
    let nginx = Number.NaN
    for (const target of targets.filter(({ name }) => !absent.has(name))) {
      const reading = await measureOne(target)
      if (target === targets[0]) nginx = reading.requestsPerSecond ?? nginx
      const { requestsPerSecond } = reading
      const ratio = requestsPerSecond === undefined ? {} : { ratio: requestsPerSecond / nginx }
      readings.get(target.name)?.push({ ...reading, ...ratio })
    }
    console.error(`round ${round + 1} of ${rounds} is done`)
  }
  return readings
}

/** A peer that cannot stream, or not as many requests, has no number there. */
async function measureOne(target: Target): Promise<Reading> {
  const { result, runUs, highestBytes } = await consume(target, optionsOf(target))
  const failures = failuresOf(result)
  if (failures > 0) {
    const fault = new Error(`${target.name}: ${failures} requests failed`)
    if (!target.isPeer) throw fault
    leaveOut(target.name, fault)
    return {}
  }
  const closed = {
    requestsPerSecond: result.requestsPerSecond,
    cpuUs: runUs / result.requests,
    closedP99Ms: result.p99Us / 1_000,
    loadMiB: highestBytes / MEBIBYTE,
  }
  return {
    ...closed,
    ...(await openLoop(target, result.requestsPerSecond)),
    ...(await streams(target)),
  }
}

async function openLoop(target: Target, requestsPerSecond: number): Promise<Reading> {
  if (requestsPerSecond < OPEN_LOOP_FROM) return {}
  const { result } = await consume(target, { ...optionsOf(target), rate: RATE })
  if (failuresOf(result) > 0) return {}
  return { openP50Ms: result.p50Us / 1_000, openP99Ms: result.p99Us / 1_000 }
}

async function streams(target: Target): Promise<Reading> {
  const options = { ...optionsOf(target), port: target.streamPort, stream: true }
  const { result, runUs } = await consume(target, options)
  return failuresOf(result) > 0 ? {} : { eventUs: runUs / result.events }
}

function optionsOf({ port, headers }: Target): LoadOptions {
  return { program: load, port, seconds, connections: CONNECTIONS, headers }
}

function markdown(readings: ReadonlyMap<string, readonly Reading[]>): string {
  const none = [...absent.keys()].filter((name) => !readings.has(name))
  const rows: (readonly [string, readonly Reading[]])[] = [
    ...readings,
    ...none.map((name) => [name, []] as const),
  ]
  const lines = rows.map(([name, all]) => [name, ...COLUMNS.map((row) => cell(row, all))])
  return [
    '# Beside other gateways',
    '',
    `Made by \`make bench-peers\`: one core each, ${CONNECTIONS} connections, closed loop, open loop at ` +
      `${RATE.toLocaleString('en')} requests/s, and streams of ${EVENTS_PER_STREAM} events ${EVENT_INTERVAL_MS} ms apart;`,
    `1 KB requests, median of ${rounds} rounds with the lowest and the highest. A dash: it fails there, or is too slow.`,
    '',
    'gw has key, rate, concurrency, both budgets, metrics, traces and the access log on; counted exactly: with a model whose',
    'prompts have a published encoding; Redis: with a shared store on the core of the load. Envoy governed has key, route by',
    'model, rate, token count of whole answers and a JSON log. The table says what the others check.',
    '',
    ...describeMachine(root).map((line) => `- ${line}`),
    '',
    ...table(['', ...COLUMNS.map(({ label }) => label)], lines),
    '',
    ...[...absent].map(([name, reason]) => `- **${name}** could not be measured: ${reason}.`),
    ...(absent.size > 0 ? [''] : []),
  ].join('\n')
}

function cell({ name, digits, spread }: Row, readings: readonly Reading[]): string {
  const values = readings.map((reading) => reading[name]).filter((one) => one !== undefined)
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) return '–'
  const shown = (value = Number.NaN) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return spread ? `${shown(middle)} (${shown(sorted[0])}–${shown(sorted.at(-1))})` : shown(middle)
}
