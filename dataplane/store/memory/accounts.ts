/** All tenants of the memory store, and the windows of groups and keys, in the present. */

import type { Rules } from '../../accounts/store.ts'
import { Present } from '../../accounts/windows.ts'
import { Account, NONE_SCOPED, type Scoped } from './account.ts'
import type { Ledger } from './ledger.ts'
import { Tenant } from './tenant.ts'

export class Accounts {
  readonly #present: Present
  readonly #restored: Map<string, readonly Ledger[]>
  readonly #tenants = new Map<string, Tenant>()
  /** By the id of their scope. */
  readonly #scopes = new Map<string, Account>()

  constructor(wall: number, restored: ReadonlyMap<string, readonly Ledger[]>) {
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

  /** The windows of a group or a key. */
  of(id: string): Account {
    let account = this.#scopes.get(id)
    if (account === undefined) {
      account = new Account(id, this.#present, this.#restored.get(id) ?? [])
      this.#restored.delete(id)
      this.#scopes.set(id, account)
    }
    account.moveTo(this.#present)
    return account
  }

  scoped({ scoped }: Rules): readonly Scoped[] {
    if (scoped === undefined) return NONE_SCOPED
    return scoped.map(({ scope, rule }) => ({ scope, rule, account: this.of(scope.id) }))
  }

  /** Drops idle tenants, and windows that ended long ago. */
  forget(now: number): void {
    for (const [name, tenant] of this.#tenants) {
      if (tenant.isIdle(this.#present, now)) this.#tenants.delete(name)
    }
    for (const [id, account] of this.#scopes) {
      if (account.isOver(this.#present)) this.#scopes.delete(id)
    }
  }
}
