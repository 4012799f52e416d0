/**
 * `make bench-governed`: the books of this gateway and of others, each check several times; writes
 * `figures.generated.json`, and from it `results.md`. `node test/bench/governed/run.ts [TIMES] [SYSTEM ...]` with these
 * systems only; prints only if TIMES is less than seven.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { describeRedis } from '../redis.ts'
import { describeMachine, missingTools } from '../tools.ts'
import { RUNS } from './checks.ts'
import { type Measured, page, rowOf } from './page.ts'
import { CHECKS, type Check, type Figure, type System } from './system.ts'
import { OWN, SYSTEMS } from './systems.ts'

/** Fewer values have no interval. */
const TIMES = 7
const SLOW_TIMES = 3

const [times = String(TIMES), ...names] = process.argv.slice(2)
const unknown = names.filter((name) => !(name in SYSTEMS))
const problems = [
  ...missingTools(),
  ...unknown.map(
    (name) => `${name} is not a system; the systems are ${Object.keys(SYSTEMS).join(', ')}`,
  ),
  ...(Number(times) >= 1 ? [] : [`TIMES is ${times}; write a number of at least 1`]),
]
if (problems.length > 0) {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}
const wanted = names.length === 0 ? Object.keys(SYSTEMS) : names
const root = resolve(import.meta.dirname, '../../..')
const load = `load of the last 15 minutes: ${Math.round(loadavg()[2] ?? 0)}`
const machine = [...describeMachine(root), describeRedis(), load]
for (const name of wanted) {
  for (const measured of await measureNamed(name)) {
    // A failed check of another system is one of its results.
    if (OWN.includes(name) && Object.keys(measured.failed).length > 0) process.exitCode = 1
    console.log(rowOf(measured).join(' | '))
    if (Number(times) >= TIMES) keep(measured, name)
  }
}

async function measureNamed(name: string): Promise<readonly Measured[]> {
  let systems: readonly System[]
  try {
    systems = SYSTEMS[name]?.() ?? []
  } catch (error) {
    console.error(`${name} could not be had:`, error)
    return [unavailable(name, firstSentence(error))]
  }
  const measured: Measured[] = []
  for (const system of systems) measured.push(await measure(system))
  return measured
}

/** Its earlier figures stay, in the rows of its systems. */
function unavailable(name: string, reason: string): Measured {
  const failed = Object.fromEntries(CHECKS.map((check) => [check, reason]))
  return { name, cap: 'could not be had', lacks: {}, date: today(), times: 0, values: {}, failed }
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}

/** A system's figures replace its earlier ones; those of others stay, with their dates. */
function keep(measured: Measured, argument: string): void {
  const file = join(import.meta.dirname, 'figures.generated.json')
  const known: Measured[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  // Without the row that says that the system could not be had.
  const kept = known.filter((one) => one.times > 0 || one.name !== argument)
  const isSame = ({ name }: Measured) => name === measured.name
  const all = kept.some(isSame)
    ? kept.map((one) => (isSame(one) ? measured : one))
    : [...kept, measured]
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
  writeFileSync(join(import.meta.dirname, 'results.md'), page(all, machine))
}

/** A check that fails leaves the others of its system. */
async function measure(system: System): Promise<Measured> {
  const count = system.isSlow ? Math.min(Number(times), SLOW_TIMES) : Number(times)
  const values: Partial<Record<Figure, number[]>> = {}
  const failed: Partial<Record<Check, string>> = {}
  for (const check of CHECKS.filter((one) => system.lacks[one] === undefined)) {
    try {
      for (let time = 0; time < count; time++) {
        const figures = Object.entries(await RUNS[check](system)) as [Figure, number][]
        for (const [figure, value] of figures) values[figure] = [...(values[figure] ?? []), value]
      }
      console.error(`${system.name}: ${check} is done`)
    } catch (error) {
      failed[check] = firstSentence(error)
      console.error(`${system.name}: ${check} failed:`, error)
    }
  }
  const { name, cap, lacks, remark } = system
  const known = { name, cap, lacks, ...(remark !== undefined && { remark }) }
  return { ...known, date: today(), times: count, values, failed }
}

/** Without its full stop. */
function firstSentence(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return line.replace(/\.$/, '')
}
