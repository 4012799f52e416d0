/** The endpoints that an operator has sent, by upstream; kept for upstreams that a later configuration adds. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Address } from './address.ts'

type Lists = ReadonlyMap<string, readonly Address[]>

export class PushedEndpoints {
  #lists: Lists = new Map()
  #zone: string | undefined
  readonly #followers: (() => void)[] = []

  /** undefined if nothing was sent for the upstream. */
  of(upstream: string): readonly Address[] | undefined {
    return this.#lists.get(upstream)
  }

  /** The zone of this pod; undefined if no upstream needs it, or it is unknown. */
  get zone(): string | undefined {
    return this.#zone
  }

  set(lists: Lists, zone?: string): void {
    this.#lists = lists
    this.#zone = zone
    for (const follow of this.#followers) follow()
  }

  follow(call: () => void): void {
    this.#followers.push(call)
  }
}

/** Whether an operator sends the endpoints of an upstream, by the probes of Kubernetes. */
export function isPushed({ section }: Pick<UpstreamSettings, 'section'>): boolean {
  return section.endpoints === 'pods' || section.endpoints === 'pool'
}
