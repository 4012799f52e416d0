/**
 * Compares ways to do one piece of work: each in a separate process, in turns, by processor time. Run a file of this
 * folder (`node test/bench/micro/roster.ts`); it prints the median of each way.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { median } from '../medians.ts'

const ROUNDS = 5
const WARM_UP = 0.1

/** Does the work this many times. The first call prepares its inputs. */
export type Work = (times: number) => void | Promise<void>

/** Afterwards the objects in use are old, as in a process that has run for a while. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

interface Measured {
  readonly ns: number
  readonly heapMiB: number
}

/** `times`: how often each way does its work in one round, a second or so. */
export async function compare(
  url: string,
  times: number,
  ways: Readonly<Record<string, Work>>,
): Promise<void> {
  const chosen = ways[process.argv[2] ?? '']
  if (chosen === undefined) report(fileURLToPath(url), Object.keys(ways))
  else process.stdout.write(JSON.stringify(await measured(chosen, times)))
}

async function measured(work: Work, times: number): Promise<Measured> {
  await work(Math.ceil(times * WARM_UP))
  let heap = 0
  const begun = process.cpuUsage()
  for (let part = 0; part < 10; part++) {
    await work(Math.ceil(times / 10))
    heap = Math.max(heap, getHeapStatistics().used_heap_size)
  }
  const { user, system } = process.cpuUsage(begun)
  return { ns: ((user + system) * 1000) / times, heapMiB: heap / 2 ** 20 }
}

function report(file: string, names: readonly string[]): void {
  const rounds = Array.from({ length: ROUNDS }, () => names.map((name) => inProcess(file, name)))
  for (const [index, name] of names.entries()) {
    const results = rounds.map((round) => round[index] as Measured)
    const ns = median(results.map((result) => result.ns))
    const heap = median(results.map((result) => result.heapMiB))
    console.log(
      `${name.padEnd(28)} ${ns.toFixed(0).padStart(8)} ns ${heap.toFixed(1).padStart(8)} MiB`,
    )
  }
}

function inProcess(file: string, name: string): Measured {
  const { stdout, stderr, status } = spawnSync(process.execPath, [file, name], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}
