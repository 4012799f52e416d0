/**
 * `node test/bench/profile/tail.ts [COLUMN] [RATE]`: the slowest 1 % of requests at 1,000/s, and the work that the event loop did
 * while they waited. Time in which other processes had the core does not make a request slow. Metrics are scraped every two
 * seconds, and the configuration is read again in the middle of it.
 */
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../helpers/free-port.ts'
import { startGateway, VARIANTS } from '../gateway.ts'
import { failuresOf, runLoad } from '../load.ts'
import { startRedis } from '../redis.ts'
import { startUpstream } from '../rig.ts'
import { compilePrograms } from '../tools.ts'
import type { Period, Profile } from './read.ts'
import { lengthOf, slowestOf, takenFrom, type Waits, waitsOf } from './slowest.ts'

const SECONDS = 10
const CONNECTIONS = 64
const SHARE = 0.01
const SCRAPE_MS = 2_000
const INTERVAL_US = 200
const FUNCTIONS = 25
const ROOT = resolve(import.meta.dirname, '../../..')

const [variant = 'governed', rate = '1000'] = process.argv.slice(2)
const settingsOf = VARIANTS[variant]
if (settingsOf === undefined) {
  console.error(`There is no column "${variant}"; there are: ${Object.keys(VARIANTS).join('; ')}.`)
  process.exit(64)
}
const directory = mkdtempSync(join(tmpdir(), 'gw-tail-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const { slow, waits, p50Us, p99Us, failures } = await measure(settingsOf)
process.stdout.write(report())

function report(): string {
  const { takenUs, byCause, byFunction } = waits
  const allUs = slow.reduce((sum, one) => sum + lengthOf(one), 0)
  const rows = (sums: Waits['byCause'], count: number) =>
    [...sums]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, count)
      .map(([name, us]) => `| ${name} | ${((100 * us) / (allUs - takenUs)).toFixed(1)} |`)
  const eachMs = (us: number) => (us / slow.length / 1_000).toFixed(1)
  return [
    `${variant} at ${rate}/s: p50 ${(p50Us / 1_000).toFixed(2)} ms, p99 ${(p99Us / 1_000).toFixed(2)} ms, ${failures} failed, sampling included.`,
    `The ${slow.length} slowest waited ${eachMs(allUs)} ms each; for ${eachMs(takenUs)} ms of it others had the core. The event loop did meanwhile:`,
    '',
    '| work | % of the rest |',
    '|---|---|',
    ...rows(byCause, byCause.size),
    '',
    '| function, by itself | % of the rest |',
    '|---|---|',
    ...rows(byFunction, FUNCTIONS),
    '',
  ].join('\n')
}

async function measure(settings: NonNullable<typeof settingsOf>) {
  const programs = compilePrograms(join(import.meta.dirname, '..'))
  const [port, upstreamPort, metricsPort] = [await freePort(), await freePort(), await freePort()]
  const behind = { eventsPerStream: 10, eventIntervalMs: 0, idleStreams: false, directory }
  const upstream = await startUpstream(
    { ...behind, upstreamProgram: programs.upstream },
    upstreamPort,
  )
  const redis = await startRedis(directory)
  const folder = join(directory, 'profiles')
  const gateway = await startGateway({
    ...{ name: 'tail', main: join(ROOT, 'dataplane/main.ts'), root: ROOT },
    directory: join(directory, 'gateway'),
    // As in run.ts.
    flags: [
      '--max-semi-space-size=4',
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
      `--cpu-prof-interval=${INTERVAL_US}`,
    ],
    ...{ upstreamPort, port, metricsPort, adminPort: await freePort() },
    settings: settings(redis),
  })
  try {
    const options = { program: programs.load, port, seconds: SECONDS, connections: CONNECTIONS }
    await runLoad(options)
    const logFile = join(directory, 'requests')
    const disturbing = disturb(metricsPort, join(directory, 'gateway/gateway.yaml'))
    const load = await runLoad({ ...options, rate: Number(rate), logFile })
    await disturbing
    const ended = once(gateway.child, 'exit')
    gateway.child.kill('SIGTERM')
    await ended
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
    const profile: Profile = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const taken = takenFrom(profile, INTERVAL_US)
    const slow: readonly Period[] = slowestOf(readFileSync(logFile, 'utf8'), SHARE, taken)
    return { ...load, failures: failuresOf(load), slow, waits: waitsOf(profile, slow, INTERVAL_US) }
  } finally {
    await Promise.all([gateway.stop(), upstream.stop(), redis.stop()])
  }
}

/** While the load runs; the file of the configuration is watched. */
async function disturb(metricsPort: number, file: string): Promise<void> {
  for (let passed = 0; passed + SCRAPE_MS < SECONDS * 1_000; passed += SCRAPE_MS) {
    if (passed === 2 * SCRAPE_MS) appendFileSync(file, '\n')
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
    await answer.arrayBuffer()
    await sleep(SCRAPE_MS)
  }
}
