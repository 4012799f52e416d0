/** Joins figures of several processes: adds numbers, and pairs members of lists by their names. */
import { isRecord, type Json } from '../../json/values.ts'

/** Members that name a thing. */
const NAMES = ['name', 'upstream', 'tenant', 'hour', 'route'] as const

export function added(one: Json, other: Json): Json {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...names].map((name) => [name, addedValue(one[name], other[name])]))
}

function addedValue(one: unknown, other: unknown): unknown {
  if (typeof one === 'number' && typeof other === 'number') return one + other
  if (Array.isArray(one) && Array.isArray(other)) return addedLists(one, other)
  if (isRecord(one) && isRecord(other)) return added(one, other)
  return one ?? other
}

/** Lists of numbers have the same length. */
function addedLists(one: readonly unknown[], other: readonly unknown[]): unknown[] {
  if (!one.every(isRecord)) return one.map((value, index) => addedValue(value, other[index]))
  const joined = new Map<string, Json>()
  for (const thing of [...one, ...(other as readonly Json[])]) {
    const key = NAMES.map((name) => thing[name]).join('\n')
    const there = joined.get(key)
    joined.set(key, there === undefined ? thing : added(there, thing))
  }
  return [...joined.values()]
}

interface Shadowed {
  readonly answers: number
  readonly mean_completion_tokens?: number
  readonly mean_bytes?: number
  readonly first_p50_ms?: number
  readonly first_p95_ms?: number
}

/** Counts are added; means are those of all answers, and of percentiles the larger one is shown. */
export function addedShadow(one: Json, other: Json): Json {
  const last = [...(one.last as readonly unknown[]), ...(other.last as readonly unknown[])]
  return {
    ...one,
    copies: added(one.copies as Json, other.copies as Json),
    differences: added(one.differences as Json, other.differences as Json),
    real: addedAnswers(one.real as Shadowed & Json, other.real as Shadowed & Json),
    shadow: addedAnswers(one.shadow as Shadowed & Json, other.shadow as Shadowed & Json),
    last: last.slice(0, Math.max(1, (one.last as readonly unknown[]).length)),
  }
}

function addedAnswers(one: Shadowed & Json, other: Shadowed & Json): Json {
  const answers = one.answers + other.answers
  const mean = (name: 'mean_completion_tokens' | 'mean_bytes') =>
    answers === 0
      ? undefined
      : Math.round((one.answers * (one[name] ?? 0) + other.answers * (other[name] ?? 0)) / answers)
  const larger = (name: 'first_p50_ms' | 'first_p95_ms') =>
    one[name] === undefined ? other[name] : Math.max(one[name], other[name] ?? 0)
  return {
    ...added(one, other),
    mean_completion_tokens: mean('mean_completion_tokens'),
    mean_bytes: mean('mean_bytes'),
    first_p50_ms: larger('first_p50_ms'),
    first_p95_ms: larger('first_p95_ms'),
  }
}
