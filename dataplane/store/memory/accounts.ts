/** All tenants of the memory store, and the counters of groups, keys and limits, in the present. */

import type { BudgetScope, Rules } from '../../accounts/store.ts'
import { Present } from '../../accounts/windows.ts'
import { Account, NONE_SCOPED, type Scoped } from './account.ts'
import type { Ledger } from './ledger.ts'
import { Tenant } from './tenant.ts'

/**
 * Clients make up tags, so with that many counters of groups, keys and limits the quiet ones are dropped: those that have
 * nothing to remember, and if that is not enough the oldest others.
 */
const SCOPES_MAX = 100_000
/** The part of them that stays then. */
const SCOPES_LEFT = 0.9

export class Accounts {
  readonly #present: Present
  readonly #restored: Map<string, readonly Ledger[]>
  readonly #tenants = new Map<string, Tenant>()
  /** By the id of their scope. */
  readonly #scopes = new Map<string, Account>()
  readonly #scopesMax: number

  constructor(
    wall: number,
    restored: ReadonlyMap<string, readonly Ledger[]>,
    scopesMax = SCOPES_MAX,
  ) {
    this.#scopesMax = scopesMax
    this.#present = new Present(wall)
    this.#restored = new Map(restored)
  }

  moveTo(wall: number): void {
    this.#present.moveTo(wall)
  }

  enter(name: string): Tenant {
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = new Tenant(name, this.#present, this.#restored.get(name) ?? [])
      this.#restored.delete(name)
      this.#tenants.set(name, tenant)
    }
    tenant.moveTo(this.#present)
    return tenant
  }

  /** Returns a tenant without storing it: a scrape reads every tenant with a budget, and there may be ten thousand. */
  seen(name: string): Tenant {
    const seen =
      this.#tenants.get(name) ?? new Tenant(name, this.#present, this.#restored.get(name) ?? [])
    seen.moveTo(this.#present)
    return seen
  }

  /** The counter of a group, a key or a limit. */
  of({ id, limit }: BudgetScope, now: number): Account {
    const present = limit === undefined ? this.#present : limit.period.at(this.#present.at)
    let account = this.#scopes.get(id)
    if (account === undefined) {
      if (this.#scopes.size >= this.#scopesMax && limit !== undefined) this.#makeRoom(now)
      account = new Account(id, present, this.#restored.get(id) ?? [])
      this.#restored.delete(id)
      this.#scopes.set(id, account)
    }
    account.moveTo(present)
    return account
  }

  /** The other counters of a request, with their rates in the present. */
  scoped({ scoped }: Rules, now: number): readonly Scoped[] {
    if (scoped === undefined) return NONE_SCOPED
    return scoped.map(({ scope, rule, rates }) => {
      const account = this.of(scope, now)
      if (rates !== undefined) account.obey(rates, now)
      return { scope, rule, rates, account }
    })
  }

  /** Drops idle tenants, and windows that ended long ago. */
  forget(now: number): void {
    for (const [name, tenant] of this.#tenants) {
      if (tenant.isIdle(this.#present, now)) this.#tenants.delete(name)
    }
    this.#forgetScopes(now)
  }

  #makeRoom(now: number): void {
    const left = SCOPES_LEFT * this.#scopesMax
    this.#forgetScopes(now)
    for (const [id, account] of this.#scopes) {
      if (this.#scopes.size <= left) return
      if (id.startsWith('limit') && account.isQuiet(now)) this.#scopes.delete(id)
    }
  }

  #forgetScopes(now: number): void {
    for (const [id, account] of this.#scopes) {
      if (account.isQuiet(now) && account.isOver(this.#present)) this.#scopes.delete(id)
    }
  }
}
