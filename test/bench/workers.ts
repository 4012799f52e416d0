/**
 * One process and two on one port, in turns of two seconds: requests in the closed loop, processor time of all threads of
 * the gateway a request, p99 at 1,000/s, and memory. `node test/bench/workers.ts [ROUNDS]`; the gateway may use every core,
 * also that of load and upstream.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'
import { childrenOf, readProcessorTime, readResidentBytes } from './consumption.ts'
import { governed, startGateway } from './gateway.ts'
import { failuresOf, runLoad } from './load.ts'
import { interval } from './medians.ts'
import { startUpstream } from './rig.ts'
import { compilePrograms } from './tools.ts'

const WORKERS = [1, 2]
const CONNECTIONS = 64
const SECONDS = 2
const RATE = 1_000
const WARM_SECONDS = 8

const [rounds = '10'] = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), 'gw-workers-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const programs = compilePrograms(import.meta.dirname)
const upstreamPort = await freePort()
const upstream = await startUpstream(
  {
    upstreamProgram: programs.upstream,
    directory,
    eventsPerStream: 10,
    eventIntervalMs: 0,
    idleStreams: false,
  },
  upstreamPort,
)
const gateways = []
try {
  for (const workers of WORKERS) gateways.push(await start(workers))
  for (const gateway of gateways) await load(gateway.port, WARM_SECONDS)
  for (let round = 0; round < Number(rounds); round++) {
    for (const gateway of round % 2 === 0 ? gateways : gateways.toReversed()) await measure(gateway)
  }
} finally {
  for (const { process: started } of gateways) await started.stop()
  await upstream.stop()
}
console.log(`${availableParallelism()} cores\n`)
console.log(
  '| workers | requests/s | CPU us a request | p99 ms at 1,000/s | MiB of all processes |',
)
console.log('| --- | --- | --- | --- | --- |')
for (const { workers, figures } of gateways) {
  const { rate, cpuUs, p99Ms, mebibytes } = figures
  console.log(
    `| ${workers} | ${shown(rate, 0)} | ${shown(cpuUs, 1)} | ${shown(p99Ms, 2)} | ${shown(mebibytes, 0)} |`,
  )
}

interface Started {
  readonly workers: number
  readonly port: number
  readonly process: Awaited<ReturnType<typeof startGateway>>
  readonly figures: Record<'rate' | 'cpuUs' | 'p99Ms' | 'mebibytes', number[]>
}

async function start(workers: number): Promise<Started> {
  const root = resolve(import.meta.dirname, '../..')
  const [port, metricsPort, adminPort] = [await freePort(), await freePort(), await freePort()]
  const started = await startGateway({
    name: `workers-${workers}`,
    main: join(root, 'dataplane/main.ts'),
    root,
    directory: join(directory, `${workers}`),
    core: `0-${availableParallelism() - 1}`,
    ...{ upstreamPort, port, metricsPort, adminPort },
    settings: {
      ...governed(),
      gateway: {
        listen_address: '127.0.0.1',
        ...{ listen_port: port, metrics_port: metricsPort, admin_port: adminPort, workers },
      },
    },
  })
  await until('all workers run', () => childrenOf(started.pid).length >= workers - 1)
  return {
    workers,
    port,
    process: started,
    figures: { rate: [], cpuUs: [], p99Ms: [], mebibytes: [] },
  }
}

async function measure({ port, process: { pid }, figures }: Started): Promise<void> {
  const all = [pid, ...childrenOf(pid)]
  const spent = () => all.reduce((sum, one) => sum + readProcessorTime(one).runNs, 0)
  const before = spent()
  const closed = await load(port, SECONDS)
  figures.cpuUs.push((spent() - before) / 1000 / closed.requests)
  figures.rate.push(closed.requestsPerSecond)
  figures.p99Ms.push((await load(port, SECONDS, RATE)).p99Us / 1000)
  figures.mebibytes.push(all.reduce((sum, one) => sum + readResidentBytes(one), 0) / 1_048_576)
}

async function load(port: number, seconds: number, rate?: number) {
  const options = { program: programs.load, port, seconds, connections: CONNECTIONS }
  const result = await runLoad({ ...options, ...(rate !== undefined && { rate }) })
  if (failuresOf(result) > 0) throw new Error('Requests failed.')
  return result
}

function shown(values: readonly number[], digits: number): string {
  const { low, middle, high } = interval(values)
  return `${middle.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`
}
