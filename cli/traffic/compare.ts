/** Sends recorded requests to two gateways, and compares status, model, tokens and cost. */
import { type AnswerFacts, answered, type Gateway } from './answered.ts'
import type { RecordedRequest } from './recorded.ts'

export interface TrafficDifference {
  readonly field: string
  readonly from: string | number
  readonly to: string | number
}

export interface Compared {
  readonly line: number
  readonly path: string
  readonly from: AnswerFacts
  readonly to: AnswerFacts
  readonly differences: readonly TrafficDifference[]
}

export interface Comparison {
  readonly from: Gateway
  readonly to: Gateway
  readonly concurrency: number
  /** Per cent by which tokens and cost may differ. */
  readonly tolerance: number
}

/** Both gateways get a request at the same time; the results are in the order of the file. */
export async function compareTraffic(
  requests: readonly RecordedRequest[],
  { from, to, concurrency, tolerance }: Comparison,
): Promise<Compared[]> {
  const results: Compared[] = []
  let next = 0
  const work = async () => {
    for (let index = next++; index < requests.length; index = next++) {
      const request = requests[index]
      if (request === undefined) return
      const [before, after] = await Promise.all([answered(request, from), answered(request, to)])
      const { line, path } = request
      const differences = differencesOf(before, after, tolerance)
      results[index] = { line, path, from: before, to: after, differences }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return results
}

const AMOUNTS = ['input_tokens', 'output_tokens', 'cost_usd'] as const

/** A fact that one of them does not state is not compared. */
function differencesOf(from: AnswerFacts, to: AnswerFacts, tolerance: number): TrafficDifference[] {
  const found: TrafficDifference[] = []
  if (from.status !== to.status || from.status === 0)
    found.push({ field: 'status', from: statusOf(from), to: statusOf(to) })
  if (from.status !== to.status) return found
  if (from.model !== undefined && to.model !== undefined && from.model !== to.model)
    found.push({ field: 'model', from: from.model, to: to.model })
  for (const field of AMOUNTS) {
    const [one, other] = [from[field], to[field]]
    if (one === undefined || other === undefined) continue
    if (Math.abs(one - other) > (Math.abs(one) * tolerance) / 100 + Number.EPSILON)
      found.push({ field, from: one, to: other })
  }
  return found
}

function statusOf({ status, error }: AnswerFacts): string | number {
  return status === 0 ? (error ?? 'no answer') : status
}
