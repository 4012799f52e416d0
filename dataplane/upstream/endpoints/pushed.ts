/** The endpoints that an operator has sent, by upstream: kept for upstreams that a later configuration names. */
import type { Address } from './address.ts'

type Lists = ReadonlyMap<string, readonly Address[]>

export class PushedEndpoints {
  #lists: Lists = new Map()
  readonly #followers: (() => void)[] = []

  /** undefined where nothing was sent for it. */
  of(upstream: string): readonly Address[] | undefined {
    return this.#lists.get(upstream)
  }

  set(lists: Lists): void {
    this.#lists = lists
    for (const follow of this.#followers) follow()
  }

  follow(call: () => void): void {
    this.#followers.push(call)
  }
}
