/** The table of operations: the cost of each with one governed gateway, next to chat completions. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { governed, NATIVE, ROUTE, startGateway } from './gateway.ts'
import { failuresOf, type LoadedOperation, type LoadOptions } from './load.ts'
import { consume, type Reading } from './measure.ts'
import type { Plan } from './plan.ts'
import type { Process } from './processes.ts'
import { type Report, table } from './report.ts'
import { startUpstream } from './rig.ts'
import type { Programs } from './tools.ts'

interface Measured {
  readonly root: string
  readonly main: string
  readonly directory: string
  readonly programs: Programs
  readonly plan: Plan
}

interface Operation extends LoadedOperation {
  readonly streams: boolean
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'chat completions': { path: '/v1/chat/completions', model: ROUTE, streams: true },
  embeddings: { path: '/v1/embeddings', model: ROUTE, isInput: true, streams: false },
  'messages, passed': { path: '/v1/messages', model: NATIVE, streams: true },
  'messages, translated': { path: '/v1/messages', model: ROUTE, streams: true },
}

const ROWS = [
  { label: 'requests/s, closed loop', name: 'requestsPerSecond', digits: 0 },
  { label: 'CPU µs per request, closed loop', name: 'cpuUsPerRequest', digits: 1 },
  { label: 'p99 µs, closed loop', name: 'p99Us', digits: 0 },
  { label: 'stream events/s', name: 'eventsPerSecond', digits: 0 },
  { label: 'CPU µs per stream event', name: 'cpuUsPerEvent', digits: 1 },
] as const

const SETTLE_MS = 300

/** Rounds over all operations, so that a disturbance affects all of them. */
export async function measureOperations(measured: Measured): Promise<Report> {
  const { plan } = measured
  const processes: Process[] = []
  try {
    const ask = await start(measured, processes)
    const readings = new Map<string, Reading[]>()
    const names = Object.keys(OPERATIONS)
    for (let round = 0; round <= plan.rounds; round++) {
      for (const name of names) {
        await sleep(SETTLE_MS)
        const reading = await ask(OPERATIONS[name] as Operation)
        // The first brings compilers and pools to their steady state.
        if (round > 0) readings.set(name, [...(readings.get(name) ?? []), reading])
      }
    }
    return reportOf(readings)
  } finally {
    for (const started of processes.reverse()) await started.stop()
  }
}

async function start({ root, main, directory, programs, plan }: Measured, processes: Process[]) {
  const own = join(directory, 'operations')
  mkdirSync(own)
  const upstreamPort = await freePort()
  const { eventsPerStream, eventIntervalMs } = plan
  const behind = { eventsPerStream, eventIntervalMs, idleStreams: false, directory: own }
  processes.push(
    await startUpstream({ ...behind, upstreamProgram: programs.upstream }, upstreamPort),
  )
  const ports = {
    port: await freePort(),
    metricsPort: await freePort(),
    adminPort: await freePort(),
  }
  const gateway = await startGateway({
    ...{ name: 'operations', main, root, directory: join(own, 'gw'), upstreamPort, ...ports },
    settings: governed(),
    hasNative: true,
  })
  processes.push(gateway)
  return (operation: Operation) =>
    measure(operation, { pid: gateway.pid, port: ports.port, program: programs.load, plan })
}

interface Way {
  readonly pid: number
  readonly port: number
  readonly program: string
  readonly plan: Plan
}

async function measure(operation: Operation, way: Way): Promise<Reading> {
  const { pid, port, program, plan } = way
  const { connections, closedSeconds, streamSeconds } = plan
  const options: LoadOptions = { program, port, connections, operation, seconds: closedSeconds }
  const { result, runUs } = await consume({ pid }, options)
  const whole = {
    requestsPerSecond: result.requestsPerSecond,
    cpuUsPerRequest: runUs / result.requests,
    p99Us: result.p99Us,
    failures: failuresOf(result),
  }
  if (!operation.streams) return whole
  const streamed = await consume({ pid }, { ...options, seconds: streamSeconds, stream: true })
  return {
    ...whole,
    eventsPerSecond: streamed.result.eventsPerSecond,
    cpuUsPerEvent: streamed.runUs / streamed.result.events,
    failures: whole.failures + failuresOf(streamed.result),
  }
}

function reportOf(readings: ReadonlyMap<string, readonly Reading[]>): Report {
  const names = [...readings.keys()]
  const valuesOf = (name: string, row: string) =>
    (readings.get(name) ?? []).map((reading) => reading[row]).filter((one) => one !== undefined)
  const failures = names.map((name) =>
    valuesOf(name, 'failures').reduce((sum, one) => sum + one, 0),
  )
  const lines = ROWS.map(({ label, name, digits }) => [
    label,
    ...names.map((operation) => shown(valuesOf(operation, name), digits)),
  ])
  const all = [...lines, ['failed requests', ...failures.map(String)]]
  const markdown = ['## Operations, governed', '', ...table(['', ...names], all), ''].join('\n')
  return { markdown, failures: failures.reduce((sum, one) => sum + one, 0) }
}

function shown(values: readonly number[], digits: number): string {
  const median = values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]
  if (median === undefined) return '–'
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return median.toLocaleString('en', options)
}
