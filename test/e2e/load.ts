/** A pod that calls a gateway all the time, and its reports. */
import { clientPod } from './objects.ts'
import { SPACE } from './spaces.ts'
import { SECONDS_MAX, type World } from './world.ts'

export interface LoadOptions {
  /** Origin of the gateway, as seen from a pod. */
  readonly url: string
  readonly key: string
  readonly model?: string
  readonly rate: number
  readonly streams?: number
  readonly streamModel?: string
  readonly maxTokens?: number
}

export interface LoadReport {
  /** Since the first request. */
  readonly seconds: number
  /** The usage in the answers. */
  readonly tokens: number
  readonly begun: number
  readonly answered: number
  readonly lost: number
  readonly open: number
  readonly statuses: Readonly<Record<string, number>>
  /** Requests by the tag of the pod that answered. */
  readonly pods: Readonly<Record<string, number>>
  readonly streams: {
    readonly open: number
    readonly opened: number
    readonly completed: number
    readonly cut: number
    readonly refused: number
    readonly longest: number
  }
  readonly milliseconds: { readonly p50: number; readonly p99: number; readonly max: number }
  readonly failures: readonly {
    readonly kind: string
    readonly at: string
    readonly seconds: number
    readonly what: string
  }[]
}

export interface Load {
  report(): Promise<LoadReport>
  /** Resolves once this many requests were answered or lost. */
  reaches(count: number, secondsMax: number): Promise<LoadReport>
  /** Starts no new requests, waits for open ones, reports, and deletes the pod. */
  stop(): Promise<LoadReport>
}

export async function startLoad(world: World, name: string, options: LoadOptions): Promise<Load> {
  const defaults = { streams: 0, model: 'chat', streamModel: 'slow', maxTokens: 64 }
  const wanted = JSON.stringify({ ...defaults, ...options })
  const command = ['node', '/client/load.ts', wanted]
  const { kubectl } = world
  await kubectl(['-n', SPACE, 'delete', 'pod', name, '--ignore-not-found', '--wait'])
  await world.apply(clientPod({ name, image: world.image, command }))
  const wait = ['wait', '--for=condition=Ready', `pod/${name}`, `--timeout=${SECONDS_MAX}s`]
  await kubectl(['-n', SPACE, ...wait])
  const ask = async (path: string): Promise<LoadReport> => {
    const get = ['node', '/client/get.ts', `http://127.0.0.1:7000/${path}`]
    return JSON.parse(await kubectl(['-n', SPACE, 'exec', name, '--', ...get]))
  }
  return {
    report: () => ask('report'),
    async reaches(count, secondsMax) {
      const deadline = performance.now() + secondsMax * 1000
      for (;;) {
        const report = await ask('report')
        if (report.answered + report.lost >= count) return report
        if (performance.now() > deadline) {
          throw new Error(`Not within ${secondsMax} s: ${count} requests.\n${describe(report)}`)
        }
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }
    },
    async stop() {
      const report = await ask('stop')
      await kubectl(['-n', SPACE, 'delete', 'pod', name, '--wait=false'])
      return report
    },
  }
}

const FAILURES_TOLD = 8

/** For the message of an assertion. */
export function describe(report: LoadReport): string {
  const failures = report.failures.slice(0, FAILURES_TOLD)
  return JSON.stringify({ ...report, failures }, null, 1)
}
