/** Answers of the admin API that several of its paths have in common, and those on traces. */
import type { Gateway } from '../../gateway/gateway.ts'
import type { Trace } from '../../telemetry/trace/fields.ts'
import { runningOf } from './running.ts'

export type AdminQuery = Readonly<Record<string, string>>

export interface Answer {
  readonly status: number
  readonly body: unknown
}

const TRACES_SHOWN = 100

export function traces({ limit, running }: AdminQuery, gateway: Gateway) {
  if (running === 'true') return runningOf(gateway, limitOf(limit))
  return gateway.traces.list(limitOf(limit))
}

/** The number of traces that a query asks for. */
export function limitOf(asked: string | undefined): number {
  const limit = Number(asked ?? TRACES_SHOWN)
  return Number.isSafeInteger(limit) && limit > 0 ? limit : TRACES_SHOWN
}

export function traceOf(
  gateway: Gateway,
  id: string,
  shown: (trace: Trace) => unknown = (trace) => trace,
): Answer {
  const trace = gateway.traces.get(id)
  if (trace !== undefined) return ok(shown(trace))
  return missing(`There is no trace of request "${id}"; the last ${gateway.traces.size} are kept.`)
}

export async function explained(gateway: Gateway, query: AdminQuery): Promise<Answer> {
  const { explanationOf } = await import('../explanation.ts')
  const explanation = await explanationOf(query, gateway)
  if ('wrong' in explanation)
    return { status: 400, body: { error: { message: explanation.wrong } } }
  if (!('missing' in explanation)) return ok(explanation)
  const { status, body } = missing(explanation.missing)
  return { status, body: { ...body, verdict: explanation.verdict } }
}

export function ok(body: unknown): Answer {
  return { status: 200, body }
}

export function missing(message: string) {
  return { status: 404, body: { error: { message } } }
}
