/**
 * `make profile`: where the processor time of a governed request goes, as a table by stage and by function, and as a flame
 * graph. `node test/bench/profile/run.ts 'governed, Redis'` takes another column of the benchmark.
 */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { readProcessorTime } from '../consumption.ts'
import { startGateway, VARIANTS } from '../gateway.ts'
import { failuresOf, runLoad } from '../load.ts'
import { startRedis } from '../redis.ts'
import { startUpstream } from '../rig.ts'
import { compilePrograms } from '../tools.ts'
import { drawFlames } from './flame.ts'
import { readProfile, type Times } from './read.ts'

const SECONDS = 5
/** How many of the dearest are named. */
const FUNCTIONS = 40
const CONNECTIONS = 64
/** Finer than a call takes, and coarse enough that sampling costs little. */
const INTERVAL_US = 200
const ROOT = resolve(import.meta.dirname, '../../..')
const PICTURE = join(ROOT, '.cache/profile.svg')

const [variant = 'governed'] = process.argv.slice(2)
const settingsOf = VARIANTS[variant]
if (settingsOf === undefined) {
  console.error(`There is no column "${variant}"; there are: ${Object.keys(VARIANTS).join('; ')}.`)
  process.exit(64)
}
const directory = mkdtempSync(join(tmpdir(), 'gw-profile-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const { cpuUs, requests, times } = await measure(settingsOf)
mkdirSync(join(ROOT, '.cache'), { recursive: true })
const perRequest = (us: number) => (us / times.root.us) * cpuUs
writeFileSync(PICTURE, drawFlames(times.root, perRequest))
process.stdout.write(table(times))

function table({ byStage, byFunction }: Times): string {
  const rows = [...byStage].map(([stage, us]) => `| ${stage} | ${perRequest(us).toFixed(1)} |`)
  return [
    `${requests} requests (${variant}) over ${CONNECTIONS} connections; ${cpuUs.toFixed(1)} us of processor time each, sampling included.`,
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

async function measure(settings: NonNullable<typeof settingsOf>) {
  const programs = compilePrograms(join(import.meta.dirname, '..'))
  const [port, upstreamPort] = [await freePort(), await freePort()]
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
  const redis = await startRedis(directory)
  const folder = join(directory, 'profiles')
  const gateway = await startGateway({
    name: 'profile',
    main: join(ROOT, 'dataplane/main.ts'),
    root: ROOT,
    directory: join(directory, 'gateway'),
    // With the flags it would take itself, it need not start anew, which a signal of the profiler would end.
    flags: [
      '--max-semi-space-size=4',
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
      `--cpu-prof-interval=${INTERVAL_US}`,
    ],
    upstreamPort,
    port,
    metricsPort: await freePort(),
    adminPort: await freePort(),
    settings: settings(redis),
  })
  try {
    const options = { program: programs.load, port, seconds: SECONDS, connections: CONNECTIONS }
    // Compiled code is what serves.
    await runLoad(options)
    const fromUs = now()
    const before = readProcessorTime(gateway.pid).runNs
    const load = await runLoad(options)
    if (failuresOf(load) > 0) throw new Error('Requests failed.')
    const cpuUs = (readProcessorTime(gateway.pid).runNs - before) / 1000 / load.requests
    const toUs = now()
    const ended = once(gateway.child, 'exit')
    gateway.child.kill('SIGTERM')
    await ended
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const times = readProfile(profile, { fromUs, toUs })
    return { cpuUs, requests: load.requests, times }
  } finally {
    await Promise.all([gateway.stop(), upstream.stop(), redis.stop()])
  }
}

/** The clock of profiles. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
