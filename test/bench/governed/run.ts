/**
 * `make bench-governed`: the books of this gateway and of others, each check several times; writes `results.md`.
 * `node test/bench/governed/run.ts [TIMES] [SYSTEM ...]` with these systems only, printed only.
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { interval } from '../medians.ts'
import { table } from '../report.ts'
import { describeMachine, missingTools } from '../tools.ts'
import { aborted, cached, type Figures, lost, overshoot, revocation, slots } from './checks.ts'
import { gw } from './gw.ts'
import { ABSENT, envoySystem } from './peers.ts'
import { CHECKS, type Check, type System } from './system.ts'

/** Fewer values have no interval. */
const TIMES = 7

const RUNS: readonly (readonly [Check, (system: System) => Promise<Figures>])[] = [
  ['overshoot', overshoot],
  ['slots', slots],
  ['lost', lost],
  ['revocation', revocation],
  ['cached', cached],
  ['aborted', aborted],
]

type All = Map<Check, number[]>

const problems = missingTools()
if (problems.length > 0) {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}
const [times = String(TIMES), ...names] = process.argv.slice(2)
const wanted = (name: string) =>
  names.length === 0 || names.some((one) => name.toLowerCase().startsWith(one.toLowerCase()))
const systems = [...(wanted('gw') ? [gw] : []), ...(wanted('envoy') ? [envoySystem()] : [])]
const figures = new Map<System, All>()
for (const system of systems) figures.set(system, await measured(system))
const text = page()
console.log(text)
if (process.argv.length === 2) writeFileSync(join(import.meta.dirname, 'results.md'), text)

async function measured(system: System): Promise<All> {
  const all: All = new Map()
  for (const [check, run] of RUNS) {
    if (system.lacks[check] !== undefined) continue
    for (let time = 0; time < Number(times); time++) {
      const got = Object.entries(await run(system)) as [Check, number][]
      for (const [name, value] of got) all.set(name, [...(all.get(name) ?? []), value])
    }
    console.error(`${system.name}: ${check} is done`)
  }
  return all
}

function page(): string {
  const rows = (Object.keys(CHECKS) as Check[]).map((check) => [
    CHECKS[check],
    ...systems.map((system) => cell(figures.get(system)?.get(check) ?? [])),
  ])
  const lacking = systems.flatMap(({ name, lacks }) =>
    (Object.keys(lacks) as Check[]).map((check) => [name, CHECKS[check], lacks[check] ?? '']),
  )
  const root = resolve(import.meta.dirname, '../../..')
  return [
    '# Governed: the books',
    '',
    `Made by \`make bench-governed\` on ${new Date().toISOString().slice(0, 10)}: each check ${times} times, the median with an interval that`,
    'contains the median of a longer measurement in 19 of 20 cases. A dash: see the second table.',
    '',
    ...describeMachine(root).map((line) => `- ${line}`),
    '',
    ...table(['', ...systems.map(({ name }) => name)], rows),
    '',
    '## What could not be had',
    '',
    ...table(
      ['system', 'check', 'why'],
      [...lacking, ...ABSENT.map(([name, reason]) => [name, 'all', reason])],
    ),
    '',
  ].join('\n')
}

function cell(values: readonly number[]): string {
  if (values.length === 0) return '–'
  const { low, middle, high } = interval(values)
  const shown = (value: number) =>
    value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : 0 })
  return `${shown(middle)} (${shown(low)}–${shown(high)})`
}
