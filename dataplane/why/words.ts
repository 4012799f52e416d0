/** Words of reasons: times, shares, and bounded quotations. */
import type { Symptom } from './facts.ts'

const QUOTED_MAX = 200
const SECOND_MS = 1000
const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [SECOND_MS, 'second'],
] as const

/** The first sentence of a text. */
export function cut(text: string): string {
  const line = text.trim().split('\n')[0] ?? ''
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line
  return sentence.slice(0, QUOTED_MAX).replace(/[.]$/, '')
}

/** Two sentences of a text whose first one only counts. */
export function cutTwo(text: string): string {
  const first = cut(text)
  const rest = text
    .trim()
    .slice(first.length)
    .replace(/^[.!?\s]+/, '')
  return rest === '' ? first : `${first}; ${cut(rest)}`
}

/** `14:02:11`, with the day if that is not the day of `now`. UTC. */
export function clockTime(at: number, now: number): string {
  const text = new Date(at).toISOString()
  const isToday = text.slice(0, 10) === new Date(now).toISOString().slice(0, 10)
  return isToday ? text.slice(11, 19) : `${text.slice(0, 10)} ${text.slice(11, 19)}`
}

/** `3 days`, in the largest unit that fits. */
export function span(ms: number): string {
  const [unitMs, unit] = UNITS.find(([unitMs]) => ms >= unitMs) ?? [SECOND_MS, 'second']
  const count = Math.max(1, Math.floor(ms / unitMs))
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

export function percent(share: number): string {
  if (share >= 0.995) return 'all'
  if (share < 0.01) return 'less than 1 % of'
  return `${Math.round(share * 100)} % of`
}

/** The message of the newest refusal. */
export function joined({ requests }: Symptom): string {
  return cut(requests[0]?.message ?? 'not said why')
}
