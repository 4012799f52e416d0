/** The upstreams that refuse the credential of the gateway, as the status of a pod reports them. */
import type { Gateway } from '../gateway/gateway.ts'

export interface RefusedCredential {
  readonly upstream: string
  /** The status of the upstream's answer. */
  readonly status: number
}

export function refusedCredentials({ active }: Gateway): RefusedCredential[] {
  const refused = new Map<string, number>()
  for (const { targets } of active.lanes.values()) {
    for (const { name, state } of targets) {
      const { status } = state.credential.refusals
      if (status !== undefined) refused.set(name, status)
    }
  }
  return [...refused].map(([upstream, status]) => ({ upstream, status }))
}
