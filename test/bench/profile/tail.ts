/**
 * `node test/bench/profile/tail.ts [COLUMN] [RATE]`: the slowest 1 % of requests at 1,000/s, and the work that the event loop did
 * while they waited. RATE `closed`: 64 connections that never wait. Time in which other processes had the core does not
 * make a request slow. Metrics are scraped every two seconds, and the configuration is read again in the middle of it.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failuresOf, runLoad } from '../load.ts'
import { columnNamed, INTERVAL_US, type Profiled, profiled } from './profiled.ts'
import { lengthOf, slowestOf, takenFrom, type Waits, waitsOf } from './slowest.ts'

const SECONDS = 10
const SHARE = 0.01
const SCRAPE_MS = 2_000
const FUNCTIONS = 25
const CLOSED = 'closed'

const [variant = 'governed', rate = '1000'] = process.argv.slice(2)
const { profile, requests, p50Us, p99Us, failures } = await profiled(columnNamed(variant), measure)
const slow = slowestOf(requests, SHARE, takenFrom(profile, INTERVAL_US))
const waits = waitsOf(profile, slow, INTERVAL_US)
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
  const load =
    rate === CLOSED ? `${requests.split('\n').length} in the closed loop` : `at ${rate}/s`
  return [
    `${variant}, ${load}: p50 ${(p50Us / 1_000).toFixed(2)} ms, p99 ${(p99Us / 1_000).toFixed(2)} ms, ${failures} failed, sampling included.`,
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

async function measure({ load: target, metricsPort, configFile, directory }: Profiled) {
  const options = { ...target, seconds: SECONDS }
  await runLoad(options)
  const logFile = join(directory, 'requests')
  const disturbing = disturb(metricsPort, configFile)
  const result = await runLoad({
    ...options,
    ...(rate === CLOSED ? {} : { rate: Number(rate) }),
    logFile,
  })
  await disturbing
  const { p50Us, p99Us } = result
  return { p50Us, p99Us, failures: failuresOf(result), requests: readFileSync(logFile, 'utf8') }
}

/** While the load runs; the gateway watches the configuration file. */
async function disturb(metricsPort: number, file: string): Promise<void> {
  for (let passed = 0; passed + SCRAPE_MS < SECONDS * 1_000; passed += SCRAPE_MS) {
    if (passed === 2 * SCRAPE_MS) appendFileSync(file, '\n')
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
    await answer.arrayBuffer()
    await sleep(SCRAPE_MS)
  }
}
