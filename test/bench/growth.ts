/** Measures a request, the memory, a reload and a scrape with 10 to 10,000 tenants and keys, and 1,000 routes and upstreams. */
import { readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'
import { readProcessorTime, readResidentBytes } from './consumption.ts'
import { startGateway } from './gateway.ts'
import { GROWING, sizedSettings, sizesOf } from './growth-settings.ts'
import { failuresOf, runLoad } from './load.ts'
import { median, medianLines } from './medians.ts'
import type { Process } from './processes.ts'
import { table } from './report.ts'
import { startUpstream } from './rig.ts'
import type { Programs } from './tools.ts'

const SIZES: readonly number[] = [10, 100, 1_000, 10_000]
const SECONDS = 3
const CONNECTIONS = 64
/** Counts a scrape in a process that has scraped before. */
const SCRAPES = 3
const MEBIBYTE = 1_048_576

interface Grown extends Process {
  readonly size: number
  readonly port: number
  readonly metricsPort: number
  readonly file: string
}

interface Figures {
  readonly cpuUs: number
  readonly reloadMs: number
  readonly reloadCpuMs: number
  readonly scrapeMs: number
  readonly scrapeCpuMs: number
  /** The longest wait of another request during its reload and scrape. */
  readonly heldMs: number
  readonly idlePercent: number
  readonly rssMiB: number
}

const ROWS: readonly (readonly [keyof Figures, string, number])[] = [
  ['cpuUs', 'CPU µs per request', 1],
  ['rssMiB', 'RSS MiB under load', 0],
  ['reloadMs', 'reload, ms until it serves', 0],
  ['reloadCpuMs', "reload, CPU ms of the gateway's process", 0],
  ['scrapeMs', 'scrape, ms', 1],
  ['scrapeCpuMs', 'scrape, CPU ms', 1],
  ['heldMs', 'longest wait of a request meanwhile, ms', 0],
  ['idlePercent', '% of the core without requests', 1],
]

interface Place {
  readonly root: string
  readonly main: string
  /** Must exist. */
  readonly directory: string
  readonly programs: Programs
  readonly rounds: number
}

/** Markdown: one table for each number that grows. The sizes of one number run at the same time and take turns. */
export async function measureGrowth(place: Place, wanted = SIZES): Promise<string> {
  const parts = ['## Growth, governed', '']
  for (const what of Object.keys(GROWING)) {
    const sizes = sizesOf(what, wanted)
    const all = await measureSizes(place, what, sizes)
    const lines = medianLines(ROWS, all)
    parts.push(...table([what, ...sizes.map((size) => size.toLocaleString('en'))], lines), '')
  }
  return parts.join('\n')
}

async function measureSizes(place: Place, what: string, sizes: readonly number[]) {
  const processes: Process[] = []
  try {
    const upstreamPort = await freePort()
    const { directory, programs } = place
    const behind = { eventsPerStream: 10, eventIntervalMs: 0, idleStreams: false, directory }
    processes.push(
      await startUpstream({ ...behind, upstreamProgram: programs.upstream }, upstreamPort),
    )
    const grown: Grown[] = []
    for (const size of sizes) {
      const one = await start(place, { what, size, upstreamPort })
      grown.push(one)
      processes.push(one)
    }
    const all: Figures[][] = grown.map(() => [])
    for (const one of grown) await loaded(place, one)
    for (let round = 0; round < place.rounds; round++) {
      for (const [index, one] of grown.entries()) all[index]?.push(await measure(place, one))
    }
    return all
  } finally {
    for (const started of processes.reverse()) await started.stop()
  }
}

interface Wanted {
  readonly what: string
  readonly size: number
  readonly upstreamPort: number
}

async function start({ root, main, directory }: Place, { what, size, upstreamPort }: Wanted) {
  const [port, metricsPort, adminPort] = [await freePort(), await freePort(), await freePort()]
  const own = join(directory, `${what}-${size}`)
  const started = await startGateway({
    ...{ name: `${what}-${size}`, main, root, directory: own },
    ...{ port, metricsPort, adminPort, upstreamPort },
    settings: sizedSettings(what, size, upstreamPort),
  })
  return { ...started, size, port, metricsPort, file: join(own, 'gateway.yaml') }
}

async function measure(place: Place, grown: Grown): Promise<Figures> {
  const { pid } = grown
  const cpuUs = await loaded(place, grown)
  const rssMiB = readResidentBytes(pid) / MEBIBYTE
  const idleNs = readProcessorTime(pid).runNs
  await sleep(1_000)
  const idlePercent = (readProcessorTime(pid).runNs - idleNs) / 1e7
  const others = watchOthers(grown.port)
  const reload = await timed(pid, () => reloaded(grown))
  const scrapes = []
  for (let scrape = 0; scrape < SCRAPES; scrape++) {
    scrapes.push(await timed(pid, () => scraped(grown)))
  }
  return {
    ...{ cpuUs, rssMiB, idlePercent, heldMs: await others.stop() },
    ...{ reloadMs: reload.ms, reloadCpuMs: reload.cpuMs },
    scrapeMs: median(scrapes.map(({ ms }) => ms)),
    scrapeCpuMs: median(scrapes.map(({ cpuMs }) => cpuMs)),
  }
}

async function loaded({ programs }: Place, { pid, port }: Grown): Promise<number> {
  const before = readProcessorTime(pid).runNs
  const options = { program: programs.load, port, seconds: SECONDS, connections: CONNECTIONS }
  const result = await runLoad(options)
  if (failuresOf(result) > 0) throw new Error('Requests failed.')
  return (readProcessorTime(pid).runNs - before) / 1_000 / result.requests
}

async function timed(pid: number, work: () => Promise<unknown>) {
  const [startedAt, before] = [performance.now(), readProcessorTime(pid).runNs]
  await work()
  const cpuMs = (readProcessorTime(pid).runNs - before) / 1e6
  return { ms: performance.now() - startedAt, cpuMs }
}

/** The file gets another time and the same text, so that all of it is read again. */
async function reloaded({ file, child, outputFile = '' }: Grown): Promise<void> {
  const taken = () => readFileSync(outputFile, 'utf8').split('"config_reload"').length
  const before = taken()
  utimesSync(file, new Date(), new Date())
  child.kill('SIGHUP')
  await until('the configuration is taken', () => taken() > before)
}

async function scraped({ metricsPort }: Grown): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
  await response.text()
}

/** One small request after the other. */
function watchOthers(port: number) {
  let isOver = false
  let longest = 0
  const asking = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      const response = await fetch(`http://127.0.0.1:${port}/healthz`)
      await response.arrayBuffer()
      longest = Math.max(longest, performance.now() - startedAt)
      await sleep(1)
    }
  })()
  return {
    async stop() {
      isOver = true
      await asking
      return longest
    },
  }
}
