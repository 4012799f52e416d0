/** Secrets that pods can no longer use: running pods serve with the values they read before, a new pod cannot start. */
import type { Stored } from '../delivery/bundle.ts'
import { isSpoilt, type PodProblem } from '../delivery/pod-reports.ts'
import type { PodState } from '../delivery/pusher.ts'
import { enforces } from './facts.ts'

/** The pod enforces this very document, so only a changed Secret can make it refuse the document. */
export function unusableIn(
  pod: PodState,
  { configuration: wanted }: Stored,
): readonly PodProblem[] {
  const { configuration } = pod.report ?? {}
  const { refused } = configuration ?? {}
  if (configuration === undefined || refused === undefined) return []
  // The same content with the next number.
  const isRenumbered = refused.documentHash === wanted?.documentHash && enforces(pod, wanted.hash)
  return isSpoilt(configuration) || isRenumbered ? refused.problems : []
}

/** `gw.gateway.tls.key: is not the key of cert`. */
export function shownProblem({ pointer, message }: PodProblem): string {
  const place = pointer.slice(1).replaceAll('/', '.')
  return place === '' ? message : `${place}: ${message}`
}
