/** Verdicts on what the caller and the provider saw, and a table of them. */
import type { Fault, View } from './catalogue.ts'

export type Verdict = 'pass' | 'safe' | 'partial' | 'fail'

export interface Score {
  readonly fault: Fault
  readonly stream: boolean
  readonly view: View
  readonly verdict: Verdict
  readonly why: string
}

/**
 * `pass`: the caller got the ideal result and every check holds. `partial`: got it, but an advisory
 * check fails. `safe`: did not get it, but a clear error in time. `fail`: anything else.
 */
export function score(fault: Fault, stream: boolean, view: View): Score {
  const broken = fault.checks.filter((check) => !check.holds(view))
  const required = broken.filter((check) => check.advisory !== true)
  const judged = (verdict: Verdict, why: string): Score => ({ fault, stream, view, verdict, why })
  if (!['answered', 'error'].includes(view.ending)) return judged('fail', view.ending)
  if (required.length > 0) return judged('fail', required.map(({ says }) => says).join('; '))
  if (view.ending !== fault.ideal) {
    return fault.ideal === 'answered'
      ? judged('safe', 'a clean error')
      : judged('partial', 'the refusal was routed around')
  }
  if (broken.length > 0) return judged('partial', broken.map(({ says }) => says).join('; '))
  return judged('pass', '')
}

export function tally(scores: readonly Score[]): Readonly<Record<Verdict, number>> {
  const count = (verdict: Verdict) => scores.filter((one) => one.verdict === verdict).length
  return {
    pass: count('pass'),
    safe: count('safe'),
    partial: count('partial'),
    fail: count('fail'),
  }
}

const COLUMNS = [5, 40, 8, 44, 9, 9, 9]

/** One line for each score, fit for a terminal. */
export function table(scores: readonly Score[]): string[] {
  const rows = scores.map(({ fault, stream, view, verdict, why }) => [
    fault.id,
    fault.title,
    stream ? 'stream' : 'whole',
    sawWhat(view),
    String(view.primary.length),
    String(view.fallback.length),
    why === '' ? verdict : `${verdict} (${why})`,
  ])
  const head = ['fault', 'what it is', 'asked', 'the client saw', 'primary', 'fallback', 'verdict']
  return [head, ...rows].map((cells) =>
    cells.map((cell, index) => cell.padEnd(COLUMNS[index] ?? 0)).join(' '),
  )
}

function sawWhat({ ending, status, words, code, errorEvent, milliseconds, model }: View): string {
  const time = `${(milliseconds / 1000).toFixed(1)} s`
  if (ending === 'answered') return `${words} words of ${model} in ${time}`
  const event = errorEvent ? ', event and abort' : ''
  return `${status} ${ending} ${code ?? ''} after ${words} words${event}`
}
