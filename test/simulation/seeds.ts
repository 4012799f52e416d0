/** Selects the histories to run, several at a time, and prints how to repeat a failed one. */
import assert from 'node:assert/strict'
import type { OpenBackend } from './backend.ts'
import { type History, run } from './history.ts'
import { planOf } from './plan.ts'

/** While one waits for the store, others continue. */
const AT_ONCE = 16

/** The number of histories whose problems are printed; one mistake breaks thousands. */
const TOLD_MAX = 3

export interface Seeds {
  readonly first: number
  readonly last: number
  /** Histories that have not started by then are left for another run. */
  readonly secondsMax: number
}

/**
 * `GW_SEEDS=17` or `GW_SEEDS=1-100000`; else the seeds from 1 to `count`, as far as a slow machine
 * has time.
 */
export function seedsOf(count: number, env = process.env): Seeds {
  const { GW_SEEDS: chosen } = env
  if (chosen === undefined) return { first: 1, last: count, secondsMax: env.GW_LONG ? 3600 : 40 }
  const [first = 1, last = first] = chosen.split('-').map(Number)
  assert.ok(first > 0 && last >= first, 'GW_SEEDS is a seed or a range of them: 17 or 1-100000')
  return { first, last, secondsMax: Number.POSITIVE_INFINITY }
}

export interface Sum {
  readonly histories: number
  readonly requests: number
  /** Requests whose client disconnected before the end, at any stage. */
  readonly aborts: number
  readonly byState: ReadonlyMap<string, number>
  readonly failed: readonly History[]
}

export async function runSeeds(
  seeds: Seeds,
  openBackend: OpenBackend,
  toPlan = planOf,
): Promise<Sum> {
  let next = seeds.first
  const endsAt = performance.now() + seeds.secondsMax * 1000
  let [histories, requests, aborts] = [0, 0, 0]
  const byState = new Map<string, number>()
  const failed: History[] = []
  const runSome = async () => {
    while (next <= seeds.last && performance.now() < endsAt) {
      histories++
      const history = await run(toPlan(next++), openBackend)
      for (const { state, plan } of history.lives) {
        requests++
        if ((plan.leavesAfterMs ?? plan.durationMs) < plan.durationMs) aborts++
        byState.set(state, (byState.get(state) ?? 0) + 1)
      }
      if (history.problems.length > 0) failed.push(history)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runSome))
  return { histories, requests, aborts, byState, failed }
}

/** Fails with everything needed to repeat it; a single seed is printed with all its events. */
export function assertKept({ failed, histories }: Sum, file: string): void {
  const descriptions = failed
    .toSorted((one, other) => one.plan.seed - other.plan.seed)
    .slice(0, TOLD_MAX)
    .map(({ plan, problems, diary }) => {
      const whole = histories === 1 ? [JSON.stringify(plan, null, 1), ...diary] : []
      const again = `GW_SEEDS=${plan.seed} node --test ${file}`
      return [`seed ${plan.seed}, again with: ${again}`, ...whole, ...problems].join('\n  ')
    })
  assert.equal(
    failed.length,
    0,
    `${failed.length} of ${histories} failed\n${descriptions.join('\n')}`,
  )
}
