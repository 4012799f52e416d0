/** Secrets that pods can no longer use: they serve with what they read before, and a pod that starts now cannot. */
import type { Stored } from '../delivery/bundle.ts'
import { isSpoilt, type PodProblem } from '../delivery/pod-reports.ts'
import type { PodState } from '../delivery/pusher.ts'
import { enforces } from './facts.ts'

/** Only a Secret can turn a document into one that is refused: the pod enforces that very document. */
export function unusableIn(
  pod: PodState,
  { configuration: wanted }: Stored,
): readonly PodProblem[] {
  const { configuration } = pod.report ?? {}
  const { refused } = configuration ?? {}
  if (configuration === undefined || refused === undefined) return []
  // Its content under the next number.
  const isRenumbered = refused.documentHash === wanted?.documentHash && enforces(pod, wanted.hash)
  return isSpoilt(configuration) || isRenumbered ? refused.problems : []
}

/** `gw.gateway.tls.key: is not the key of cert`. */
export function shownProblem({ pointer, message }: PodProblem): string {
  const place = pointer.slice(1).replaceAll('/', '.')
  return place === '' ? message : `${place}: ${message}`
}
