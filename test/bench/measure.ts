/** The measurements: each drives one target with load and returns named numbers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readProcessorTime, readResidentBytes, watchMemory } from './consumption.ts'
import { failuresOf, type LoadOptions, type LoadResult, runLoad } from './load.ts'
import type { Plan } from './plan.ts'
import type { Rig, Target } from './rig.ts'
import { measureWarmUp } from './warm-up.ts'

const SETTLE_MS = 300
const IDLE_MS = 2_000

/** Numbers by name; a name that is absent does not apply to the target. */
export type Reading = Readonly<Record<string, number>>

/** All readings of a target, the latest last. */
export type Readings = ReadonlyMap<string, Reading[]>

interface Consumption {
  readonly result: LoadResult
  readonly runUs: number
  readonly busyPercent: number
  readonly waitPercent: number
  readonly lastBytes: number
  readonly highestBytes: number
}

/**
 * Rounds over all targets, the same measurement of each right after the other, so that a disturbance affects all of
 * them.
 */
export async function measureRounds(rig: Rig, load: string, plan: Plan): Promise<Readings> {
  const readings = new Map<string, Reading[]>()
  await sleep(IDLE_MS)
  for (const target of rig.targets) readings.set(target.name, [readIdle(target)])
  for (const target of rig.targets) {
    readings.get(target.name)?.push(await measureFirst(target, load, plan))
    await warmUp(target, load, plan)
  }
  for (let round = 0; round < plan.rounds; round++) {
    for (const measure of [measureClosedLoop, measureOpenLoop, measureStreams]) {
      for (const target of rig.targets) {
        await sleep(SETTLE_MS)
        readings.get(target.name)?.push(await measure(target, load, plan))
      }
    }
    console.error(`round ${round + 1} of ${plan.rounds} is done`)
  }
  return readings
}

function readIdle({ pid, startMs }: Target): Reading {
  if (pid === undefined) return {}
  return { idleBytes: readResidentBytes(pid), ...(startMs !== undefined && { startMs }) }
}

/** Only the gateways start cold. */
async function measureFirst(
  { pid, port, startMs }: Target,
  load: string,
  { warmUpRequests }: Plan,
): Promise<Reading> {
  if (pid === undefined || startMs === undefined) return {}
  return { ...(await measureWarmUp({ pid, port }, load, warmUpRequests)) }
}

/** Brings compilers and pools to their steady state. */
async function warmUp(target: Target, program: string, plan: Plan): Promise<void> {
  const { connections, warmUpSeconds: seconds } = plan
  await runLoad({ program, connections, seconds, port: target.port })
  await runLoad({ program, connections, seconds, port: target.streamPort, stream: true })
}

async function measureClosedLoop(target: Target, program: string, plan: Plan): Promise<Reading> {
  const { connections, closedSeconds: seconds } = plan
  const storeBefore = await storeTimeOf(target)
  const consumed = await consume(target, { program, connections, seconds, port: target.port })
  const { result } = consumed
  const storeAfter = await storeTimeOf(target)
  return {
    requestsPerSecond: result.requestsPerSecond,
    closedP99Us: result.p99Us,
    failures: failuresOf(result),
    ...(target.pid !== undefined && {
      cpuUsPerRequest: consumed.runUs / result.requests,
      busyPercent: consumed.busyPercent,
      waitPercent: consumed.waitPercent,
      loadBytes: consumed.highestBytes,
    }),
    ...(storeBefore &&
      storeAfter && {
        storeCpuUs: (storeAfter.cpuUs - storeBefore.cpuUs) / result.requests,
        storeScriptUs: (storeAfter.scriptUs - storeBefore.scriptUs) / result.requests,
      }),
  }
}

async function storeTimeOf({ store }: Target) {
  if (store === undefined) return undefined
  return { scriptUs: await store.scriptUs(), cpuUs: readProcessorTime(store.pid).runNs / 1e3 }
}

async function measureOpenLoop(target: Target, program: string, plan: Plan): Promise<Reading> {
  const { connections, openSeconds: seconds, openRate: rate } = plan
  const options = { program, connections, seconds, rate, port: target.port }
  const { result, runUs, waitPercent } = await consume(target, options)
  return {
    openP50Us: result.p50Us,
    openP99Us: result.p99Us,
    failures: failuresOf(result),
    ...(target.pid !== undefined && {
      openCpuUsPerRequest: runUs / result.requests,
      waitPercent,
    }),
  }
}

async function measureStreams(target: Target, program: string, plan: Plan): Promise<Reading> {
  const { connections, streamSeconds: seconds } = plan
  const options = { program, connections, seconds, port: target.streamPort, stream: true }
  const { result, runUs, waitPercent } = await consume(target, options)
  return {
    eventsPerSecond: result.eventsPerSecond,
    failures: failuresOf(result),
    ...(target.pid !== undefined && { cpuUsPerEvent: runUs / result.events, waitPercent }),
  }
}

/**
 * Opens many silent streams, one target after the other, and reads the memory at the end of the hold. A stream that was
 * not open then is a failure.
 */
export async function measureIdleStreams(rig: Rig, load: string, plan: Plan): Promise<Readings> {
  const readings = new Map<string, Reading[]>()
  await sleep(IDLE_MS)
  for (const target of rig.targets) {
    if (target.pid === undefined) continue
    const before = readResidentBytes(target.pid)
    const { result, lastBytes, highestBytes } = await consume(target, {
      program: load,
      port: target.streamPort,
      connections: plan.idleStreams,
      seconds: plan.holdSeconds,
      hold: true,
    })
    const reading = {
      streamsBytes: lastBytes,
      streamsHighestBytes: highestBytes,
      bytesPerStream: (lastBytes - before) / plan.idleStreams,
      failures: plan.idleStreams - result.open + result.errors,
    }
    readings.set(target.name, [reading])
  }
  return readings
}

export async function consume(
  target: Pick<Target, 'pid'>,
  options: LoadOptions,
): Promise<Consumption> {
  if (target.pid === undefined) {
    const nothing = { runUs: 0, busyPercent: 0, waitPercent: 0, lastBytes: 0, highestBytes: 0 }
    return { result: await runLoad(options), ...nothing }
  }
  const memory = watchMemory(target.pid)
  const before = readProcessorTime(target.pid)
  const result = await runLoad(options)
  const after = readProcessorTime(target.pid)
  const runNs = after.runNs - before.runNs
  const percent = (ns: number) => ns / options.seconds / 1e7
  return {
    result,
    runUs: runNs / 1e3,
    busyPercent: percent(runNs),
    waitPercent: percent(after.waitNs - before.waitNs),
    ...memory.stop(),
  }
}
