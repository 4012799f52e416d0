/**
 * Two trees beside each other, in turns: processor time of a governed request, p99 at 1,000/s and memory.
 * `node test/bench/compare.ts OTHER_TREE [ROUNDS] [FLAGS ...]`; the other tree is measured as "before", and flags of Node go to
 * this one alone (`compare.ts . 5 --max-semi-space-size=8`). Medians stand with their middle half.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { readProcessorTime, readResidentBytes } from './consumption.ts'
import { governed, startGateway } from './gateway.ts'
import { failuresOf, runLoad } from './load.ts'
import type { Process } from './processes.ts'
import { startUpstream } from './rig.ts'
import { compilePrograms } from './tools.ts'

const SECONDS = 4
const CONNECTIONS = 64
const RATE = 1_000
const MEBIBYTE = 1_048_576
/** Fewer have no spread, and the first start of a tree has nothing compiled. */
const ROUNDS_MIN = 3

interface Figures {
  readonly cpuUs: number
  readonly p99Ms: number
  readonly idleMiB: number
  readonly loadedMiB: number
}

const [other, rounds = '5', ...flags] = process.argv.slice(2)
if (other === undefined) {
  console.error('Name the other tree: node test/bench/compare.ts ../other [ROUNDS] [FLAGS ...]')
  process.exit(64)
}
// A gateway that is given flags does not start anew, so both get what that would have given them.
process.env.MALLOC_ARENA_MAX ??= '1'
process.env.NODE_COMPILE_CACHE ??= join(homedir(), '.cache/gw/compiled')
const directory = mkdtempSync(join(tmpdir(), 'gw-compare-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const programs = compilePrograms(import.meta.dirname)
const trees = { before: resolve(other), now: resolve(import.meta.dirname, '../..') }
const figures: Record<keyof typeof trees, Figures[]> = { before: [], now: [] }
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
try {
  for (let round = 0; round < Number(rounds); round++) {
    for (const name of ['before', 'now'] as const) {
      figures[name].push(await measure(trees[name], `${name}-${round}`))
      console.log(name, JSON.stringify(figures[name].at(-1)))
    }
  }
} finally {
  await upstream.stop()
}
for (const key of ['cpuUs', 'p99Ms', 'idleMiB', 'loadedMiB'] as const) {
  console.log(verdict(key))
}

/** No noise may pass for a result: the medians must be further apart than the middle halves of both are wide. */
function verdict(key: keyof Figures): string {
  const [before, now] = [quartilesOf(figures.before, key), quartilesOf(figures.now, key)]
  const spread = Math.max(before.high - before.low, now.high - now.low)
  const difference = now.middle - before.middle
  const words = `${key}: ${shown(before)} before, ${shown(now)} now`
  if (figures.now.length < ROUNDS_MIN) return `${words}: no verdict under ${ROUNDS_MIN} rounds`
  if (Math.abs(difference) <= spread)
    return `${words}: no verdict, the spread exceeds the difference`
  return `${words}: ${((difference / before.middle) * 100).toFixed(1)} %`
}

function shown({ low, middle, high }: Quartiles): string {
  return `${middle.toFixed(1)} (${low.toFixed(1)} to ${high.toFixed(1)})`
}

async function measure(tree: string, name: string): Promise<Figures> {
  const port = await freePort()
  const gateway = await startGateway({
    name,
    main: join(tree, 'dataplane/main.ts'),
    root: resolve(import.meta.dirname, '../..'),
    directory: join(directory, name),
    upstreamPort,
    port,
    metricsPort: await freePort(),
    adminPort: await freePort(),
    settings: governed(),
    flags: name.startsWith('now') ? flags : [],
  })
  try {
    return await load(gateway, port)
  } finally {
    await gateway.stop()
  }
}

async function load({ pid }: Process, port: number): Promise<Figures> {
  const idleMiB = readResidentBytes(pid) / MEBIBYTE
  const options = { program: programs.load, port, seconds: SECONDS }
  // Compiled code is what serves.
  await runLoad({ ...options, connections: CONNECTIONS })
  const before = readProcessorTime(pid).runNs
  const closed = await runLoad({ ...options, connections: CONNECTIONS })
  const cpuUs = (readProcessorTime(pid).runNs - before) / 1000 / closed.requests
  const open = await runLoad({ ...options, connections: CONNECTIONS, rate: RATE })
  if (failuresOf(closed) + failuresOf(open) > 0) throw new Error('Requests failed.')
  return { cpuUs, p99Ms: open.p99Us / 1000, idleMiB, loadedMiB: readResidentBytes(pid) / MEBIBYTE }
}

interface Quartiles {
  readonly low: number
  readonly middle: number
  readonly high: number
}

function quartilesOf(all: readonly Figures[], key: keyof Figures): Quartiles {
  const sorted = all.map((one) => one[key]).toSorted((one, two) => one - two)
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? 0
  return { low: at(0.25), middle: at(0.5), high: at(0.75) }
}
