/** Measures a request whose traces, metrics and logs go to a collector, and whose usage is sent as events. */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { readProcessorTime, readResidentBytes } from './consumption.ts'
import { governed, startGateway } from './gateway.ts'
import { failuresOf, runLoad } from './load.ts'
import { medianLines } from './medians.ts'
import type { Plan } from './plan.ts'
import type { Process } from './processes.ts'
import { table } from './report.ts'
import { startUpstream } from './rig.ts'
import type { Programs } from './tools.ts'

const MEBIBYTE = 1_048_576

interface Observed extends Process {
  readonly port: number
}

interface Figures {
  readonly cpuUs: number
  readonly p99Us: number
  readonly rssMiB: number
}

const ROWS: readonly (readonly [keyof Figures, string, number])[] = [
  ['cpuUs', 'CPU µs per request', 1],
  ['p99Us', 'p99 µs', 0],
  ['rssMiB', 'RSS MiB under load', 0],
]

/** Each is a column: the settings in addition to those of _governed_. */
const COLUMNS: Readonly<Record<string, (collector: string, directory: string) => object>> = {
  off: () => ({}),
  'traces, none sampled': (url) => ({ telemetry: { otlp_endpoint: url, sample_ratio: 0 } }),
  'traces, 1 %': (url) => ({ telemetry: { otlp_endpoint: url, sample_ratio: 0.01 } }),
  'traces, all': (url) => ({ telemetry: { otlp_endpoint: url, sample_ratio: 1 } }),
  'traces, all, gzip': (url) => ({
    telemetry: { otlp_endpoint: url, sample_ratio: 1, otlp_compression: 'gzip' },
  }),
  metrics: (url) => ({ telemetry: { otlp_endpoint: url, otlp_signals: ['metrics'] } }),
  logs: (url) => ({ telemetry: { otlp_endpoint: url, otlp_signals: ['logs'] } }),
  'usage events, file': (_url, directory) => ({
    usage: { sinks: { file: { path: join(directory, 'usage.jsonl') } } },
  }),
  'usage events, collector': (url) => ({ usage: { sinks: { otlp: { otlp_endpoint: url } } } }),
}

interface Place {
  readonly root: string
  readonly main: string
  /** Must exist. */
  readonly directory: string
  readonly programs: Programs
  readonly plan: Plan
}

/** Markdown. The columns run at the same time and take turns. */
export async function measureObservation(place: Place): Promise<string> {
  const processes: Process[] = []
  const collector = await startCollector()
  try {
    const columns = await start(place, collector.url, processes)
    const all: Figures[][] = columns.map(() => [])
    for (const one of columns) await measure(place, one, place.plan.warmUpSeconds)
    for (let round = 0; round < place.plan.rounds; round++)
      for (const [index, one] of columns.entries())
        all[index]?.push(await measure(place, one, place.plan.closedSeconds))
    const lines = medianLines(ROWS, all)
    const head = ['governed, closed loop', ...Object.keys(COLUMNS)]
    return ['## Traces, metrics, logs and usage', '', ...table(head, lines), ''].join('\n')
  } finally {
    for (const started of processes.reverse()) await started.stop()
    collector.close()
  }
}

/** Accepts everything and reads nothing: its work does not count as the gateway's. */
async function startCollector() {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => outgoing.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function start(
  { root, main, directory, programs }: Place,
  collector: string,
  processes: Process[],
): Promise<Observed[]> {
  const own = join(directory, 'observation')
  mkdirSync(own)
  const upstreamPort = await freePort()
  const behind = { eventsPerStream: 10, eventIntervalMs: 0, idleStreams: false, directory: own }
  processes.push(
    await startUpstream({ ...behind, upstreamProgram: programs.upstream }, upstreamPort),
  )
  const columns: Observed[] = []
  for (const [index, settings] of Object.values(COLUMNS).entries()) {
    const [port, metricsPort, adminPort] = [await freePort(), await freePort(), await freePort()]
    const name = `observation-${index}`
    const started = await startGateway({
      ...{ name, main, root, directory: join(own, name) },
      ...{ port, metricsPort, adminPort, upstreamPort },
      settings: { ...governed(), ...settings(collector, own) },
    })
    processes.push(started)
    columns.push({ ...started, port })
  }
  return columns
}

async function measure(
  { programs, plan }: Place,
  { pid, port }: Observed,
  seconds: number,
): Promise<Figures> {
  const before = readProcessorTime(pid).runNs
  const { connections } = plan
  const result = await runLoad({ program: programs.load, port, seconds, connections })
  if (failuresOf(result) > 0) throw new Error('Requests failed.')
  const cpuUs = (readProcessorTime(pid).runNs - before) / 1_000 / result.requests
  return { cpuUs, p99Us: result.p99Us, rssMiB: readResidentBytes(pid) / MEBIBYTE }
}

if (import.meta.main) await alone()

/** For a run of only this table. */
async function alone(): Promise<void> {
  const [{ QUICK_PLAN }, { compilePrograms }, fs, { tmpdir }] = await Promise.all([
    import('./plan.ts'),
    import('./tools.ts'),
    import('node:fs'),
    import('node:os'),
  ])
  const directory = fs.mkdtempSync(join(tmpdir(), 'gw-bench-'))
  const root = join(import.meta.dirname, '../..')
  const programs = compilePrograms(import.meta.dirname)
  const main = 'dataplane/main.ts'
  console.log(await measureObservation({ root, main, directory, programs, plan: QUICK_PLAN }))
  fs.rmSync(directory, { recursive: true })
}
