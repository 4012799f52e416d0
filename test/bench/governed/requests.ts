/** The requests of the checks, and what a system has charged for them. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Asking, askFor } from '../../helpers/fake-upstream.ts'
import type { Running, System } from './system.ts'

export const OK = 200
const SETTLE_SECONDS_MAX = 20
const ANSWER_MS_MAX = 10_000
/** The request of an answer of ten tokens. */
const SMALL = { max_tokens: 3 }

export function stream(running: Running): Asking {
  return ask(running, 0, { stream: true })
}

function ask({ urls, key, model }: Running, index: number, fields: object): Asking {
  return askFor(urls[index % urls.length] ?? '', key, { model, ...fields })
}

export async function servedAtOnce(running: Running, count: number): Promise<number> {
  const asked = Array.from({ length: count }, (_, index) => statusOf(running, index))
  return (await Promise.all(asked)).filter((status) => status === OK).length
}

export async function mustServe({ name }: System, running: Running): Promise<void> {
  const { status, text } = await ask(running, 0, SMALL).over
  if (status !== OK) throw new Error(`${name} refused a good request with ${status}: ${text}`)
}

/** 0 if the connection broke or no answer came in time. */
export async function statusOf(running: Running, index: number): Promise<number> {
  const asking = ask(running, index, SMALL)
  const timer = setTimeout(asking.leave, ANSWER_MS_MAX)
  const status = await asking.over.then(
    (heard) => (heard.cut ? 0 : heard.status),
    () => 0,
  )
  clearTimeout(timer)
  return status
}

export async function timed(work: () => Promise<number>): Promise<{ status: number; ms: number }> {
  const began = performance.now()
  return { status: await work(), ms: performance.now() - began }
}

/** The charge once it no longer changes; 0 without a charge in time. */
export async function settled(running: Running): Promise<number> {
  const end = performance.now() + SETTLE_SECONDS_MAX * 1_000
  let [before, last] = [-1, 0]
  while (performance.now() < end && (last === 0 || last !== before)) {
    await delay(200)
    before = last
    last = (await running.spent?.()) ?? 0
  }
  return last
}
