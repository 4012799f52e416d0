/**
 * `make profile`: the processor time of a governed request, as a table by stage and by function, and as a flame graph.
 * `node test/bench/profile/run.ts 'governed, Redis'` profiles another column of the benchmark.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readProcessorTime } from '../consumption.ts'
import { failuresOf, runLoad } from '../load.ts'
import { drawFlames } from './flame.ts'
import { columnNamed, type Profiled, profiled, ROOT } from './profiled.ts'
import { readProfile, type Times } from './read.ts'

const SECONDS = 5
/** Number of expensive functions to list. */
const FUNCTIONS = 40
const PICTURE = join(ROOT, '.cache/profile.svg')

const [variant = 'governed'] = process.argv.slice(2)
const { cpuUs, requests, connections, fromUs, toUs, profile } = await profiled(
  columnNamed(variant),
  measure,
)
const times = readProfile(profile, { fromUs, toUs })
mkdirSync(join(ROOT, '.cache'), { recursive: true })
const perRequest = (us: number) => (us / times.root.us) * cpuUs
writeFileSync(PICTURE, drawFlames(times.root, perRequest))
process.stdout.write(table(times))

function table({ byStage, byFunction }: Times): string {
  const rows = [...byStage].map(([stage, us]) => `| ${stage} | ${perRequest(us).toFixed(1)} |`)
  return [
    `${requests} requests (${variant}) over ${connections} connections; ${cpuUs.toFixed(1)} us of processor time each, sampling included.`,
    'Work of the runtime for a stage counts to the stage.',
    '',
    '| stage | us a request |',
    '|---|---|',
    ...rows,
    '',
    '| function, by itself | us a request |',
    '|---|---|',
    ...[...byFunction]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, FUNCTIONS)
      .map(([name, us]) => `| ${name} | ${perRequest(us).toFixed(2)} |`),
    '',
    `Flame graph: ${PICTURE}`,
    '',
  ].join('\n')
}

async function measure({ pid, load: target }: Profiled) {
  const options = { ...target, seconds: SECONDS }
  // Compiled code serves, as in production.
  await runLoad(options)
  const fromUs = now()
  const before = readProcessorTime(pid).runNs
  const load = await runLoad(options)
  if (failuresOf(load) > 0) throw new Error('Requests failed.')
  const cpuUs = (readProcessorTime(pid).runNs - before) / 1000 / load.requests
  const { connections } = target
  return { cpuUs, requests: load.requests, connections, fromUs, toUs: now() }
}

/** The clock of profiles. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
