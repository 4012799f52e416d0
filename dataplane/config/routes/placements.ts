/** The upstreams to which the requests of a tenant may go, by the labels that the tenant requires. */

import { EACH_TENANT } from '../../accounts/holders.ts'
import type { Section } from '../../schema/index.ts'

export interface Placement {
  /** The required labels: `class=on-prem, region=eu`. */
  readonly labels: string
  /** The names of the upstreams that have them. */
  readonly permitted: ReadonlySet<string>
}

export class Placements {
  readonly #byTenant: ReadonlyMap<string, Placement>

  /** Undefined if no tenant requires labels. */
  static of({ tenants, upstreams }: Section): Placements | undefined {
    if (tenants.length === 0) return undefined
    const made = new Map<string, Placement>()
    const placements = tenants.map(({ name, requires }) => {
      const labels = labelsText(requires)
      const placement = made.get(labels) ?? { labels, permitted: fitting(requires, upstreams) }
      made.set(labels, placement)
      return [name, placement] as const
    })
    return new Placements(new Map(placements))
  }

  private constructor(byTenant: ReadonlyMap<string, Placement>) {
    this.#byTenant = byTenant
  }

  /** Undefined if the tenant requires nothing. */
  of(tenant: string): Placement | undefined {
    return this.#byTenant.get(tenant) ?? this.#byTenant.get(EACH_TENANT)
  }

  /** Each one once. */
  all(): ReadonlySet<Placement> {
    return new Set(this.#byTenant.values())
  }
}

type Labels = Readonly<Record<string, string>>

function fitting(requires: Labels, upstreams: Section['upstreams']): ReadonlySet<string> {
  const wanted = Object.entries(requires)
  const some = upstreams.filter(({ labels = {} }) =>
    wanted.every(([label, value]) => Object.hasOwn(labels, label) && labels[label] === value),
  )
  return new Set(some.map(({ name }) => name))
}

/** In the order of their names. */
export function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .toSorted()
    .join(', ')
}
