/** When a pod is asked again what it enforces, though nothing has changed. */
import type { LinkTimings } from './pod-lane.ts'
import { isTroubled, type PodReport } from './pod-reports.ts'

/** Thousands of pods are asked a hundred a second at most. */
const POD_MS = 10

export interface AskingPace {
  readonly timings: LinkTimings
  /** How many pods are asked by this process. */
  readonly crowd: () => number
}

export function lookAgainMs(
  report: PodReport | undefined,
  isRefused: boolean,
  { timings, crowd }: AskingPace,
): number {
  const isUneasy = isRefused || (report !== undefined && isTroubled(report))
  const usualMs = isUneasy ? timings.verifyUneasyMs : timings.verifyMs
  if (!report?.hasSharedStore) return usualMs
  return Math.min(usualMs, Math.max(timings.verifySharedMs, crowd() * POD_MS))
}
