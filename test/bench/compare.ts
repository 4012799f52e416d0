/**
 * Compares two trees: the first requests after a start, processor time of a governed request, p99 in the closed loop
 * and at 1,000/s, and memory.
 * `node test/bench/compare.ts OTHER_TREE [STARTS] [FLAGS ...]`; the other tree is "before", and flags of Node apply
 * only to this one (`compare.ts . 5 --max-semi-space-size=8`). Both gateways run at once and are loaded in turns of a
 * second, so that a slow minute of the machine affects both. A verdict is given on the ratio within the pairs, and only
 * if 19 of 20 such intervals would exclude 1.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { readProcessorTime, readResidentBytes } from './consumption.ts'
import { governed, startGateway } from './gateway.ts'
import { failuresOf, type LoadResult, runLoad } from './load.ts'
import { interval } from './medians.ts'
import type { Process } from './processes.ts'
import { startUpstream } from './rig.ts'
import { compilePrograms } from './tools.ts'
import { measureWarmUp, type WarmUp } from './warm-up.ts'

const SECONDS = 4
const CONNECTIONS = 64
const RATE = 1_000
const MEBIBYTE = 1_048_576
/** Turns of one start: more add nothing, because the compiler's result of a start does not change. */
const TURNS = 10
/** Fewer pairs have no interval. */
const PAIRS_MIN = 6

interface Figures extends Omit<WarmUp, 'endUs'> {
  readonly cpuUs: number
  /** With 64 connections that never wait, and at a thousand requests a second. */
  readonly closedP99Ms: number
  readonly p99Ms: number
  readonly idleMiB: number
  readonly loadedMiB: number
}
type Pair<T> = Record<'before' | 'now', T>

const [other, starts = '6', ...flags] = process.argv.slice(2)
if (other === undefined) {
  console.error('Name the other tree: node test/bench/compare.ts ../other [STARTS] [FLAGS ...]')
  process.exit(64)
}
// A gateway with flags does not restart itself, so both get the flags of the restart.
process.env.MALLOC_ARENA_MAX ??= '1'
process.env.NODE_COMPILE_CACHE ??= join(homedir(), '.cache/gw/compiled')
const directory = mkdtempSync(join(tmpdir(), 'gw-compare-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const programs = compilePrograms(import.meta.dirname)
const root = resolve(import.meta.dirname, '../..')
const trees = { before: resolve(other), now: root }
const figures: Record<keyof Figures, Pair<number>[]> = {
  firstSeconds: [],
  settledAfter: [],
  cpuUs: [],
  closedP99Ms: [],
  p99Ms: [],
  idleMiB: [],
  loadedMiB: [],
}
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
  for (let start = 0; start < Number(starts); start++) await measureStart(start)
} finally {
  await upstream.stop()
}
for (const key of Object.keys(figures) as (keyof Figures)[]) console.log(verdict(key))

/** Noise must not look like a result. */
function verdict(key: keyof Figures): string {
  const pairs = figures[key]
  const ratios = pairs.map(({ before, now }) => now / before)
  const { low, middle, high } = interval(ratios)
  const medians = `${medianOf(pairs, 'before')} before, ${medianOf(pairs, 'now')} now`
  const words = `${key}: ${medians}, ratio ${middle.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`
  if (ratios.length < PAIRS_MIN) return `${words}: no verdict under ${PAIRS_MIN} pairs`
  if (low <= 1 && high >= 1) return `${words}: no verdict, the interval contains 1`
  return `${words}: ${high < 1 ? 'better' : 'worse'}`
}

function medianOf(pairs: readonly Pair<number>[], name: keyof typeof trees): string {
  const sorted = pairs.map((pair) => pair[name]).toSorted((one, two) => one - two)
  return (sorted[sorted.length >> 1] ?? 0).toFixed(2)
}

interface Measured {
  readonly gateway: Process
  readonly port: number
}

/**
 * Over the starts, neither gateway has the advantage of starting first; over the turns, neither of being loaded first.
 */
async function measureStart(start: number): Promise<void> {
  const names = start % 2 === 0 ? (['before', 'now'] as const) : (['now', 'before'] as const)
  const running: Partial<Pair<Measured>> = {}
  try {
    for (const name of names) running[name] = await startTree(name, start)
    const { before, now } = running as Pair<Measured>
    await measurePair({ before, now }, names)
  } finally {
    for (const one of Object.values(running)) await one.gateway.stop()
  }
}

async function measurePair(
  running: Pair<Measured>,
  names: readonly (keyof typeof trees)[],
): Promise<void> {
  /** `measure` returns figures by their names. */
  const both = async (
    measure: (one: Measured) => Promise<Partial<Figures>>,
    turn = 0,
  ): Promise<void> => {
    const pair: Pair<Partial<Figures>> = { before: {}, now: {} }
    for (const name of turn % 2 === 0 ? names : names.toReversed())
      pair[name] = await measure(running[name])
    for (const key of Object.keys(pair.now) as (keyof Figures)[]) {
      const {
        before: { [key]: before = Number.NaN },
        now: { [key]: now = Number.NaN },
      } = pair
      figures[key].push({ before, now })
      console.log(key, before.toFixed(2), now.toFixed(2))
    }
  }
  await both(async (one) => ({ idleMiB: residentMiB(one) }))
  await both(warmUpOf)
  for (let turn = 0; turn < TURNS; turn++) await both(closedLoop, turn)
  await both(async (one) => ({ p99Ms: (await load(one, SECONDS, RATE)).p99Us / 1000 }))
  await both(async (one) => ({ loadedMiB: residentMiB(one) }))
}

async function warmUpOf({ gateway, port }: Measured): Promise<Omit<WarmUp, 'endUs'>> {
  const { firstSeconds, settledAfter } = await measureWarmUp(
    { pid: gateway.pid, port },
    programs.load,
  )
  return { firstSeconds, settledAfter }
}

async function startTree(name: keyof typeof trees, start: number): Promise<Measured> {
  const port = await freePort()
  const gateway = await startGateway({
    name: `${name}-${start}`,
    main: join(trees[name], 'dataplane/main.ts'),
    root,
    directory: join(directory, `${name}-${start}`),
    upstreamPort,
    port,
    metricsPort: await freePort(),
    adminPort: await freePort(),
    settings: governed(),
    flags: name === 'now' ? flags : [],
  })
  return { gateway, port }
}

async function closedLoop(one: Measured): Promise<Pick<Figures, 'cpuUs' | 'closedP99Ms'>> {
  const before = readProcessorTime(one.gateway.pid).runNs
  const { requests, p99Us } = await load(one, 1)
  const cpuUs = (readProcessorTime(one.gateway.pid).runNs - before) / 1000 / requests
  return { cpuUs, closedP99Ms: p99Us / 1000 }
}

function residentMiB({ gateway }: Measured): number {
  return readResidentBytes(gateway.pid) / MEBIBYTE
}

async function load({ port }: Measured, seconds: number, rate?: number): Promise<LoadResult> {
  const result = await runLoad({
    program: programs.load,
    port,
    seconds,
    connections: CONNECTIONS,
    ...(rate === undefined ? {} : { rate }),
  })
  if (failuresOf(result) > 0) throw new Error('Requests failed.')
  return result
}
