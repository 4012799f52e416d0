/**
 * The rules of the store again, from the full history: every question reads everything that ever happened, in BigInt,
 * with dates as strings. Slow, and therefore plain.
 */
import type { AdmitRequest, Amount, BudgetRule, Rules } from '../../../dataplane/accounts/store.ts'

interface Past {
  readonly tenant: string
  /** The tenant, and the ids of its other counters. */
  readonly accounts: readonly string[]
  readonly id: string
  readonly day: string
  readonly month: string
  readonly downgraded: boolean
  beatAt: number
  /** Rises with every admission and beat: the one with the oldest beat expires first. */
  turn: number
  reserved: Amount
  used: Amount
  state: 'running' | 'expired' | 'settled'
  rated: number | undefined
}

interface Pour {
  readonly at: number
  readonly cost: number
  readonly perMinute: number
  readonly capacity: number
}

/** Units per request, in which a rule's leak a millisecond is whole. */
const UNIT = 60_000n

const big = (value: number) => BigInt(value)
const atLeastZero = (value: bigint) => (value < 0n ? 0n : value)
const smaller = (one: bigint, other: bigint) => (one < other ? one : other)

class History {
  readonly pours: Pour[] = []

  /** A charge of nothing marks the first request under a changed rule. */
  obey(perMinute: number, capacity: number, at: number) {
    const last = this.pours.at(-1)
    if (last?.perMinute === perMinute && last.capacity === capacity) return
    this.pours.push({ at, cost: 0, perMinute, capacity })
  }

  pour(cost: number, at: number) {
    this.pours.push({ ...this.pours.at(-1)!, at, cost })
  }

  level(now: number): bigint {
    let level = 0n
    for (const [index, pour] of this.pours.entries()) {
      const before = this.pours[index - 1] ?? pour
      const slower = Math.min(before.perMinute, pour.perMinute)
      level = atLeastZero(level - big(pour.at - before.at) * big(slower))
      const changed = before.perMinute !== pour.perMinute || before.capacity !== pour.capacity
      if (changed) level = smaller(level, big(pour.capacity) * UNIT)
      level = atLeastZero(level + big(pour.cost) * UNIT)
    }
    const last = this.pours.at(-1)
    return last === undefined ? 0n : atLeastZero(level - big(now - last.at) * big(last.perMinute))
  }

  wait(cost: number, now: number): number {
    const { perMinute, capacity } = this.pours.at(-1)!
    const need = smaller(big(cost), big(capacity)) * UNIT
    const over = atLeastZero(this.level(now) + need - big(capacity) * UNIT)
    const rate = big(perMinute)
    return Number((over + rate - 1n) / rate)
  }

  figure(limit: number, now: number) {
    const { perMinute, capacity } = this.pours.at(-1)!
    const level = this.level(now)
    const rate = big(perMinute)
    return {
      limit,
      remaining: Number(atLeastZero(big(capacity) * UNIT - level) / UNIT),
      resetMs: Number((level + rate - 1n) / rate),
    }
  }
}

export class Reference {
  readonly past: Past[] = []
  readonly histories = new Map<string, History>()
  readonly reported = new Set<string>()
  #turn = 0

  admit(request: AdmitRequest, now: number, wall: number) {
    const { tenant, id, rules, estimate, downgradeEstimate } = request
    this.#arrive(tenant, rules, now)
    const budgets = budgetsOf(tenant, rules).map(({ account, rule }) => {
      const [day, month] = [rule?.tokensPerDay ?? Infinity, rule?.nanosPerMonth ?? Infinity]
      const spentDay = this.#settled(account, 'day', wall) >= day
      const spentMonth = this.#settled(account, 'month', wall) >= month
      const promised =
        (!spentDay && this.#held(account, 'day', wall) >= day) ||
        (!spentMonth && this.#held(account, 'month', wall) >= month)
      const isSpent = spentDay || spentMonth
      const yields = rule?.onExceeded === 'downgrade' && downgradeEstimate !== undefined
      return { spentDay, spentMonth, promised, isSpent, refuses: isSpent && !yields }
    })
    const refusing = budgets.filter(({ refuses }) => refuses)
    const downgraded = refusing.length === 0 && budgets.some(({ isSpent }) => isSpent)
    const reserved = downgraded ? (downgradeEstimate ?? estimate) : estimate
    const waits: [string, number][] = [['rpm', this.#requests(tenant).wait(1, now)]]
    if (rules.tokensPerMinute !== undefined) {
      waits.push(['tpm', this.#tokens(tenant).wait(reserved.tokens, now)])
    }
    const slots = this.#running(tenant).length
    waits.push(['concurrency', slots >= rules.concurrentRequests ? 1000 : 0])
    const dayEnds = endOf('day', wall) - wall
    const monthEnds = endOf('month', wall) - wall
    for (const { spentDay, spentMonth } of refusing) {
      waits.push(['budget_tokens', spentDay ? dayEnds : 0])
      waits.push(['budget_spend', spentMonth ? monthEnds : 0])
    }
    if (refusing.length === 0 && budgets.some(({ promised }) => promised)) {
      waits.push(['budget_reserved', 1000])
    }
    const longest = Math.max(...waits.map(([, wait]) => wait))
    if (longest > 0) {
      const by = waits.find(([, wait]) => wait === longest)![0]
      return { verdict: by, wait: longest, figures: this.figures(tenant, rules, now, wall) }
    }
    this.#requests(tenant).pour(1, now)
    const rated = rules.tokensPerMinute === undefined ? undefined : reserved.tokens
    if (rated !== undefined) this.#tokens(tenant).pour(rated, now)
    this.past.push({
      tenant,
      accounts: budgetsOf(tenant, rules).map(({ account }) => account),
      id,
      day: keyOf('day', wall),
      month: keyOf('month', wall),
      downgraded,
      beatAt: now,
      turn: this.#turn++,
      reserved,
      used: { tokens: 0, nanos: 0 },
      state: 'running',
      rated,
    })
    const verdict = downgraded ? 'downgraded' : 'admitted'
    return { verdict, wait: 0, figures: this.figures(tenant, rules, now, wall) }
  }

  /** One request of the rates alone. */
  charge(tenant: string, rules: Rules, now: number, wall: number) {
    this.#arrive(tenant, rules, now)
    const { scoped: _, ...own } = rules
    const figures = () => this.figures(tenant, own, now, wall)
    const forRequest = this.#requests(tenant).wait(1, now)
    const isRated = rules.tokensPerMinute !== undefined
    const forTokens = isRated ? this.#tokens(tenant).wait(0, now) : 0
    const wait = Math.max(forRequest, forTokens)
    if (wait > 0) return { verdict: wait === forRequest ? 'rpm' : 'tpm', wait, figures: figures() }
    this.#requests(tenant).pour(1, now)
    if (isRated) this.#tokens(tenant).pour(0, now)
    return { verdict: 'admitted', wait: 0, figures: figures() }
  }

  settle(id: string, used: Amount, rules: Pick<Rules, 'budget' | 'scoped'>, now: number) {
    this.expire(now)
    const one = this.past.find((past) => past.id === id && past.state !== 'settled')
    if (one === undefined) return { charged: false, crossed: [] as string[] }
    one.state = 'settled'
    this.#charge(one, used, now)
    const crossed: string[] = []
    const known = budgetsOf(one.tenant, rules)
    for (const account of one.accounts) {
      const budget = known.find((other) => other.account === account)?.rule
      const caps = [
        ['day', budget?.tokensPerDay, this.#sum(account, 'day', one.day)],
        ['month', budget?.nanosPerMonth, this.#sum(account, 'month', one.month)],
      ] as const
      for (const [kind, limit, sum] of caps) {
        for (const threshold of budget?.alertThresholds ?? []) {
          const name = `${account} ${one[kind]} ${threshold}`
          const reached = limit !== undefined && sum * 100 >= Math.round(threshold * 100) * limit
          if (!reached || this.reported.has(name)) continue
          this.reported.add(name)
          crossed.push(`${account === one.tenant ? '' : account}${kind} ${threshold}`)
        }
      }
    }
    return { charged: true, crossed }
  }

  beat(id: string, used: Amount, now: number): boolean {
    this.expire(now)
    const one = this.past.find((past) => past.id === id && past.state === 'running')
    if (one === undefined) return false
    one.beatAt = now
    one.turn = this.#turn++
    one.used = most(one.used, used)
    one.reserved = most(one.reserved, one.used)
    return true
  }

  extend(id: string, estimate: Amount, budget: BudgetRule | undefined, now: number): boolean {
    this.expire(now)
    const one = this.past.find((past) => past.id === id && past.state === 'running')
    if (one === undefined) return false
    const caps = [
      ['day', 'tokens', budget?.tokensPerDay ?? Infinity],
      ['month', 'nanos', budget?.nanosPerMonth ?? Infinity],
    ] as const
    for (const [kind, unit, limit] of caps) {
      if (estimate[unit] <= one.reserved[unit]) continue
      const settled = this.#sum(one.tenant, kind, one[kind])
      const whole = settled + this.#reservedSum(one.tenant, kind, one[kind])
      if (settled >= limit ? !one.downgraded : whole >= limit) return false
    }
    one.reserved = most(one.reserved, estimate)
    return true
  }

  count(id: string, estimate: Amount, now: number): boolean {
    this.expire(now)
    const one = this.past.find((past) => past.id === id && past.state === 'running')
    if (one === undefined) return false
    one.reserved = least(one.reserved, most(estimate, one.used))
    if (one.rated !== undefined) {
      const lowered = Math.min(one.rated, one.reserved.tokens)
      this.#tokens(one.tenant).pour(lowered - one.rated, now)
      one.rated = lowered
    }
    return true
  }

  read(tenant: string, rules: Rules, now: number, wall: number) {
    this.#arrive(tenant, rules, now)
    return this.figures(tenant, rules, now, wall)
  }

  figures(tenant: string, rules: Rules, now: number, wall: number) {
    const { requestsPerMinute, tokensPerMinute, concurrentRequests, budget, scoped } = rules
    const figure = (account: string, kind: 'day' | 'month', limit: number | undefined) =>
      limit === undefined
        ? undefined
        : {
            limit,
            settled: this.#settled(account, kind, wall),
            reserved: this.#reservedSum(account, kind, keyOf(kind, wall)),
            resetsAt: endOf(kind, wall),
          }
    return {
      requests: this.#requests(tenant).figure(requestsPerMinute, now),
      tokenRate:
        tokensPerMinute === undefined
          ? undefined
          : this.#tokens(tenant).figure(tokensPerMinute, now),
      concurrency: { limit: concurrentRequests, used: this.#running(tenant).length },
      tokens: figure(tenant, 'day', budget?.tokensPerDay),
      spend: figure(tenant, 'month', budget?.nanosPerMonth),
      ...(scoped && {
        scoped: scoped.map(({ scope, rule }) => ({
          scope,
          tokens: figure(scope.id, 'day', rule?.tokensPerDay),
          spend: figure(scope.id, 'month', rule?.nanosPerMonth),
        })),
      }),
    }
  }

  expire(now: number) {
    for (const one of this.past.toSorted((a, b) => a.turn - b.turn)) {
      if (one.state !== 'running' || now - one.beatAt < 15_000) continue
      one.state = 'expired'
      this.#charge(one, one.used, now)
    }
  }

  #arrive(tenant: string, rules: Rules, now: number) {
    this.expire(now)
    this.#requests(tenant).obey(rules.requestsPerMinute, rules.burst, now)
    const { tokensPerMinute } = rules
    if (tokensPerMinute !== undefined) {
      this.#tokens(tenant).obey(tokensPerMinute, tokensPerMinute, now)
    }
  }

  #charge(one: Past, used: Amount, now: number) {
    one.used = used
    if (one.rated === undefined) return
    this.#tokens(one.tenant).pour(used.tokens - one.rated, now)
    one.rated = used.tokens
  }

  #requests(tenant: string) {
    return this.#history(`${tenant} requests`)
  }

  #tokens(tenant: string) {
    return this.#history(`${tenant} tokens`)
  }

  #history(name: string): History {
    const known = this.histories.get(name) ?? new History()
    this.histories.set(name, known)
    return known
  }

  #running(tenant: string) {
    return this.past.filter((one) => one.tenant === tenant && one.state === 'running')
  }

  #sum(account: string, kind: 'day' | 'month', key: string) {
    return this.past
      .filter((one) => one.accounts.includes(account) && one.state !== 'running')
      .filter((one) => one[kind] === key)
      .reduce((sum, { used }) => sum + (kind === 'day' ? used.tokens : used.nanos), 0)
  }

  #reservedSum(account: string, kind: 'day' | 'month', key: string) {
    return this.past
      .filter((one) => one.accounts.includes(account) && one.state === 'running')
      .filter((one) => one[kind] === key)
      .reduce((sum, { reserved }) => sum + (kind === 'day' ? reserved.tokens : reserved.nanos), 0)
  }

  #settled(tenant: string, kind: 'day' | 'month', wall: number) {
    return this.#sum(tenant, kind, keyOf(kind, wall))
  }

  #held(tenant: string, kind: 'day' | 'month', wall: number) {
    return this.#settled(tenant, kind, wall) + this.#reservedSum(tenant, kind, keyOf(kind, wall))
  }
}

/** The tenant's own budget first, although it may have no rule: its usage is still counted. */
function budgetsOf(tenant: string, { budget, scoped = [] }: Pick<Rules, 'budget' | 'scoped'>) {
  const others = scoped.map(({ scope, rule }) => ({ account: scope.id, rule }))
  return [{ account: tenant, rule: budget }, ...others]
}

function most(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(one.tokens, other.tokens), nanos: Math.max(one.nanos, other.nanos) }
}

function least(one: Amount, other: Amount): Amount {
  return { tokens: Math.min(one.tokens, other.tokens), nanos: Math.min(one.nanos, other.nanos) }
}

function keyOf(kind: 'day' | 'month', wall: number): string {
  return new Date(wall).toISOString().slice(0, kind === 'day' ? 10 : 7)
}

const ends = new Map<string, number>()

/** Steps by hours until the date has another name; cached, because that is slow. */
function endOf(kind: 'day' | 'month', wall: number): number {
  const hour = 3_600_000
  const key = keyOf(kind, wall)
  let end = ends.get(key) ?? Math.floor(wall / hour) * hour
  while (keyOf(kind, end) === key) end += hour
  ends.set(key, end)
  return end
}
