/** When the operator asks a pod again what it enforces, without a change. */
import type { LinkTimings } from './pod-lane.ts'
import { isTroubled, type PodReport } from './pod-reports.ts'

/** At most a hundred of thousands of pods are asked per second. */
const POD_MS = 10

export interface AskingPace {
  readonly timings: LinkTimings
  /** The number of pods that this process asks. */
  readonly crowd: () => number
}

export function lookAgainMs(
  report: PodReport | undefined,
  isRefused: boolean,
  { timings, crowd }: AskingPace,
): number {
  const isUneasy = isRefused || (report !== undefined && isTroubled(report))
  const usualMs = isUneasy ? timings.verifyUneasyMs : timings.verifyMs
  const oftenMs = (ms: number) => Math.min(usualMs, Math.max(ms, crowd() * POD_MS))
  // A rollout changes without an edit.
  const isMoving = report?.rollouts.some(({ phase }) => phase === 'running') === true
  if (report?.hasSharedStore || isMoving) return oftenMs(timings.verifySharedMs)
  // An upstream may break at any time, and the condition Verified must not outlive its answer.
  return report?.verification === undefined ? usualMs : oftenMs(timings.verifyUneasyMs)
}
