/** `make profile`: where the processor time of a governed request goes, as a table by stage and as a flame graph. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { readProcessorTime } from '../consumption.ts'
import { governed, startGateway } from '../gateway.ts'
import { failuresOf, runLoad } from '../load.ts'
import { startUpstream } from '../rig.ts'
import { compilePrograms } from '../tools.ts'
import { drawFlames } from './flame.ts'
import { readProfile, type Times } from './read.ts'

const SECONDS = 5
const CONNECTIONS = 64
/** Finer than a call takes, and coarse enough that sampling costs little. */
const INTERVAL_US = 200
const ROOT = resolve(import.meta.dirname, '../../..')
const PICTURE = join(ROOT, '.cache/profile.svg')

const directory = mkdtempSync(join(tmpdir(), 'gw-profile-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const { cpuUs, requests, times } = await measure()
mkdirSync(join(ROOT, '.cache'), { recursive: true })
const perRequest = (us: number) => (us / times.root.us) * cpuUs
writeFileSync(PICTURE, drawFlames(times.root, perRequest))
process.stdout.write(table(times))

function table({ byStage }: Times): string {
  const rows = [...byStage].map(([stage, us]) => `| ${stage} | ${perRequest(us).toFixed(1)} |`)
  return [
    `${requests} governed requests over ${CONNECTIONS} connections; ${cpuUs.toFixed(1)} us of processor time each, sampling included.`,
    'What the runtime does for a stage counts to the stage.',
    '',
    '| stage | us a request |',
    '|---|---|',
    ...rows,
    '',
    `Flame graph: ${PICTURE}`,
    '',
  ].join('\n')
}

async function measure() {
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
    settings: governed(),
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
    await Promise.all([gateway.stop(), upstream.stop()])
  }
}

/** The clock of profiles. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
