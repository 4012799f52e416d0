/** A simulated gateway: the real store of a gateway and its real leases, with requests that run in virtual time. */

import type { Rules, Store } from '../../dataplane/accounts/store.ts'
import type { Clock } from '../../dataplane/base/clock.ts'
import { Lease, Leases } from '../../dataplane/limits/leases.ts'
import type { Backend } from './backend.ts'
import { amount, Life } from './life.ts'
import { type Network, Wire } from './network.ts'
import type { PlannedRequest } from './plan.ts'

const SWEEP_MS = 2000

export interface SiteOptions {
  readonly name: string
  readonly backend: Backend
  readonly network: Network
  readonly clock: Clock
  readonly rules: Rules
  /** The rules of a tenant, with all its budgets. */
  readonly rulesFor: (tenant: string, rules: Rules) => Rules
}

export class Site {
  readonly name: string
  readonly wire: Wire
  readonly store: Store
  rules: Rules
  isDead = false
  readonly #network: Network
  readonly #leases: Leases
  readonly #clock: Clock
  readonly #rulesFor: SiteOptions['rulesFor']
  /** The requests that have not ended. */
  readonly #lives = new Set<Life>()
  #requests = 0

  constructor({ name, backend, network, clock, rules, rulesFor }: SiteOptions) {
    this.name = name
    this.rules = rules
    this.#rulesFor = rulesFor
    this.#network = network
    this.#clock = clock
    this.wire = new Wire(network)
    this.store = backend.open({ name, clock, wire: this.wire })
    this.#leases = new Leases(this.store, clock)
    this.#sweep()
  }

  /** Registers the life before its first event. */
  serve(plan: PlannedRequest, lives: Map<string, Life>): Promise<void> {
    const id = `${this.name}-${++this.#requests}`
    const rules = this.#rulesFor(plan.tenant, this.rules)
    const life = new Life(id, plan, rules, this.#network.time.now)
    lives.set(id, life)
    this.#lives.add(life)
    return this.#live(life)
  }

  /** It loses all its state and sends nothing more. */
  crash(): void {
    this.isDead = true
    this.wire.isDead = true
    for (const life of this.#lives) {
      life.isForgotten = true
      if (life.state === 'running') life.state = 'crashed'
    }
  }

  async #live(life: Life): Promise<void> {
    const { tenant, estimate, durationMs, leavesAfterMs = Number.POSITIVE_INFINITY } = life.plan
    const { id, rules } = life
    const { time } = this.#network
    const hold = { tenant, id, budget: rules.budget, scoped: rules.scoped }
    const charge = life.isCharge && { ratesOnly: true }
    const request = { tenant, id, rules, estimate: amount(estimate), ...charge }
    // A store that is away throws, at once or later.
    const decide = async () => await this.store.admit(request)
    const result = await decide().catch(() => undefined)
    life.answeredAt = time.now
    if (result?.outcome !== 'admitted') {
      life.state = result === undefined ? 'unavailable' : 'refused'
      this.#lives.delete(life)
      return
    }
    life.runsFrom = time.now
    if (life.isCharge) {
      life.state = 'ended'
      this.#lives.delete(life)
      return
    }
    life.state = 'running'
    const used = () => amount(life.usedAt(time.now))
    const lease = new Lease(hold, amount(estimate), used)
    this.#leases.add(lease)
    const left = life.askedAt + leavesAfterMs - time.now
    await time.sleep(Math.max(0, Math.min(durationMs, left)))
    await new Promise<void>((resolve) => this.wire.whenAwake(resolve))
    if (this.isDead) return
    this.#leases.remove(lease)
    life.used = life.usedAt(time.now)
    life.state = 'ended'
    await this.store.settle({ ...hold, used: amount(life.used) })
    this.#lives.delete(life)
  }

  #sweep(): void {
    if (this.isDead) return
    const { time } = this.#network
    if (this.#leases.due <= this.#clock.now()) {
      this.#leases.expire()
      for (const life of this.#lives) life.beats(time.now)
    }
    time.at(time.now + SWEEP_MS, () => this.wire.whenAwake(() => this.#sweep()))
  }
}
