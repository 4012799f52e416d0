/** The upstreams that refuse the credential of the gateway, as the status of a pod reports them. */
import type { Gateway } from '../gateway/gateway.ts'

export interface RefusedCredential {
  readonly upstream: string
  /** The status of the upstream's answer. */
  readonly status: number
  /** The index of the key, if the upstream has several. */
  readonly key?: number
}

export function refusedCredentials({ active }: Gateway): RefusedCredential[] {
  const refused = new Map<string, readonly RefusedCredential[]>()
  for (const { targets } of active.lanes.values()) {
    for (const { name: upstream, state } of targets)
      refused.set(
        upstream,
        state.credential.rejections.map((one) => ({ upstream, ...one })),
      )
  }
  return [...refused.values()].flat()
}
