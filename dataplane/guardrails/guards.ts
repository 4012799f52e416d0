/** The guardrails of the configuration in force; those that did not change keep their connections. */
import type { AuxiliaryWorld } from '../auxiliaries/auxiliary.ts'
import type { Section } from '../schema/index.ts'
import { Guard } from './guard.ts'

interface KeptGuard {
  /** Everything that its connection and its behaviour depend on. */
  readonly identity: string
  readonly guard: Guard
}

export class Guards {
  readonly #world: AuxiliaryWorld
  #known = new Map<string, KeptGuard>()

  constructor(world: AuxiliaryWorld) {
    this.#world = world
  }

  /** Opens the guardrails of a configuration, and closes removed ones after their last answers. */
  follow(section: Section): void {
    const { http_proxy, no_proxy, tls } = section
    const known = new Map<string, KeptGuard>()
    for (const one of section.guardrails) {
      const identity = JSON.stringify([one, http_proxy, no_proxy, tls])
      const before = this.#known.get(one.name)
      const isSame = before?.identity === identity
      known.set(
        one.name,
        isSame ? before : { identity, guard: new Guard(one, section, this.#world) },
      )
    }
    const gone = [...this.#known].filter(([name, one]) => known.get(name) !== one)
    this.#known = known
    for (const [, { guard }] of gone) guard.close()
  }

  /** In the order of the route. */
  of({ guardrails }: { readonly guardrails: readonly string[] }): readonly Guard[] {
    return guardrails.flatMap((name) => this.named(name) ?? [])
  }

  /** All guardrails, in the order of the configuration. */
  list(): readonly Guard[] {
    return [...this.#known.values()].map(({ guard }) => guard)
  }

  named(name: string): Guard | undefined {
    return this.#known.get(name)?.guard
  }
}
