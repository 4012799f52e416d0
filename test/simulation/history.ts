/** Runs one history and returns the broken promises. */

import { aRandom } from '../helpers/random.ts'
import type { Backend, BackendWorld, OpenBackend, Witness } from './backend.ts'
import { rulesFor } from './beside-plan.ts'
import type { Life } from './life.ts'
import { CALM, Network } from './network.ts'
import type { Deed } from './past.ts'
import { ACTIVE_MS, HISTORY_MS, type Mishap, type Plan } from './plan.ts'
import { problemsOf } from './promises.ts'
import { Site } from './site.ts'
import { VirtualTime } from './time.ts'

export interface History {
  readonly plan: Plan
  readonly lives: readonly Life[]
  readonly problems: readonly string[]
  /** The events, for a reader who examines a problem. */
  readonly diary: readonly string[]
}

export async function run(plan: Plan, openBackend: OpenBackend): Promise<History> {
  const world = new World(plan, openBackend)
  return await world.live()
}

class World {
  readonly #plan: Plan
  readonly #time = new VirtualTime()
  readonly #network: Network
  readonly #backend: Backend
  readonly #lives = new Map<string, Life>()
  readonly #sites: Site[]
  readonly #deeds: Deed[] = []
  readonly #diary: string[] = []
  readonly #problems: string[] = []

  constructor(plan: Plan, openBackend: OpenBackend) {
    this.#plan = plan
    this.#network = new Network(this.#time, aRandom(plan.seed ^ 0x5eed), plan.weather)
    const world: BackendWorld = {
      gateways: plan.skews.length,
      failOpen: plan.failOpen,
      time: this.#time,
      wall: () => this.#wall(),
      witness: this.#witness(),
      broken: (error) => {
        this.#problems.push(`the store made a mistake: ${(error as Error).message}`)
        return error
      },
    }
    this.#backend = openBackend(world)
    this.#sites = plan.skews.map((_, index) => this.#openSite(index, ''))
  }

  async live(): Promise<History> {
    for (const request of this.#plan.requests) {
      this.#time.at(request.at, () => {
        const { wire } = this.#sites[request.gateway] as Site
        wire.whenAwake(() => this.#ask(request))
      })
    }
    for (const mishap of this.#plan.mishaps) {
      if (mishap.what === 'failover')
        this.#time.at(mishap.at - mishap.ms, () => this.#backend.copy())
      this.#time.at(mishap.at, () => this.#befall(mishap))
    }
    await this.#time.runTo(ACTIVE_MS + 30_000)
    this.#network.weather = CALM
    await this.#time.runTo(HISTORY_MS)
    const lives = [...this.#lives.values()]
    const standing = await this.#standing()
    this.#problems.push(...problemsOf({ plan: this.#plan, lives, deeds: this.#deeds, standing }))
    await this.#backend.close()
    return { plan: this.#plan, lives, problems: this.#problems, diary: this.#diary }
  }

  #ask(request: Plan['requests'][number]): void {
    const site = this.#sites[request.gateway] as Site
    site.serve(request, this.#lives).catch((error: unknown) => {
      this.#problems.push(`a verb of the store threw ${(error as Error).stack}`)
    })
  }

  #befall(mishap: Mishap): void | Promise<void> {
    const { now } = this.#time
    this.#note(JSON.stringify({ ...mishap, rules: undefined }))
    if (mishap.what === 'freeze') this.#network.frozenUntil = now + mishap.ms
    if (mishap.what === 'flush') return this.#flush()
    if (mishap.what === 'failover') return this.#failOver(mishap.ms)
    if (mishap.what === 'rules') this.#changeRules(mishap.rules)
    if (mishap.what !== 'crash' && mishap.what !== 'cut' && mishap.what !== 'pause') return
    const site = this.#sites[mishap.gateway] as Site
    if (mishap.what === 'cut') {
      site.wire.cutUntil = now + mishap.ms
      return
    }
    if (mishap.what === 'pause') {
      site.wire.pausedUntil = now + mishap.ms
      return
    }
    site.crash()
    // The store sees its successor as another replica.
    this.#sites[mishap.gateway] = this.#openSite(mishap.gateway, 'b')
  }

  #changeRules(rules: Plan['rules']): void {
    for (const [index, site] of this.#sites.entries()) {
      this.#time.at(this.#time.now + index * 300, () => {
        site.rules = rules
        const successor = this.#sites[index] as Site
        successor.rules = rules
      })
    }
  }

  #openSite(index: number, suffix: string): Site {
    const { wall, skews, drifts, rules } = this.#plan
    const skew = skews[index] ?? 0
    const pace = 1 + (drifts[index] ?? 0) / HISTORY_MS
    const clock = {
      now: () => pace * this.#time.now + 1000 * (index + 1),
      wall: () => wall + skew + this.#time.now,
    }
    return new Site({
      name: `g${index}${suffix}`,
      backend: this.#backend,
      network: this.#network,
      clock,
      rules: this.#sites?.[index]?.rules ?? rules,
      rulesFor: (tenant, all) => rulesFor(tenant, all, this.#plan),
    })
  }

  /** Each tenant's final figures, as every gateway sees them. */
  async #standing() {
    const asked = this.#plan.tenants.flatMap((tenant) =>
      this.#sites.map(async ({ name, store, rules }) => {
        const caps = { tokensPerDay: 1, nanosPerMonth: 1, onExceeded: 'reject' as const }
        const budget = { ...caps, alertThresholds: [] }
        const { scoped } = rulesFor(tenant, rules, this.#plan)
        const everything = {
          ...rules,
          budget,
          ...(scoped && {
            scoped: scoped.map(({ scope, rates }) => {
              // The store keeps no money of a limit of tokens.
              const isLimit = scope.kind === 'limit'
              return {
                scope,
                rates,
                rule: isLimit ? { ...budget, nanosPerMonth: undefined } : budget,
              }
            }),
          }),
        }
        return { tenant, gateway: name, figures: await store.read(tenant, everything) }
      }),
    )
    const results = Promise.all(asked)
    await this.#time.runTo(this.#time.now + 1000)
    return await results
  }

  async #flush(): Promise<void> {
    if (await this.#backend.flush()) this.#deeds.push({ what: 'flushed', at: this.#wall() })
  }

  /** The store has another history from here on, as after a flush. */
  async #failOver(ms: number): Promise<void> {
    const at = this.#wall()
    if (await this.#backend.failOver()) this.#deeds.push({ what: 'flushed', at: at - ms })
  }

  #witness(): Witness {
    const note = (id: string, deed: (life: Life, at: number) => Deed) => {
      const life = this.#lives.get(id)
      if (life === undefined) {
        this.#problems.push(`the store got ${id}, which no client sent`)
        return
      }
      const done = deed(life, this.#wall())
      this.#deeds.push(done)
      this.#note(`the store has ${done.what} ${id}`)
    }
    return {
      admitted: (id, isHere = false) =>
        note(id, (life, at) => {
          life.admittedAt ??= at
          life.isHere = isHere
          return { what: 'admitted', life, at }
        }),
      renewed: (id, used) =>
        note(id, (life, at) => {
          life.renewedAt = at
          life.beaten = Math.max(life.beaten, used)
          return { what: 'renewed', life, at, used }
        }),
      unanswered: (id) => {
        const life = this.#lives.get(id)
        if (life !== undefined) life.isUnanswered = true
      },
      claimed: (claim) => {
        this.#deeds.push({ what: 'claimed', at: this.#wall(), ...claim })
      },
      settledBeside: (id, isLimit) => {
        const life = this.#lives.get(id)
        if (life === undefined) return
        const at = this.#wall()
        life.settledLastAt = at
        if (isLimit) this.#deeds.push({ what: 'settledInLimit', life, at })
      },
      settled: (id) =>
        note(id, (life, at) => {
          life.settledAt ??= at
          return { what: 'settled', life, at }
        }),
    }
  }

  #wall(): number {
    return this.#plan.wall + this.#time.now
  }

  #note(what: string): void {
    this.#diary.push(`${String(this.#time.now).padStart(7)} ${what}`)
  }
}
