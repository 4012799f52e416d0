/** The quotas of upstreams for one request: an attempt takes its part of the quotas there, or the upstream is passed over. */
import type { Quota, QuotaSubject, Quotas } from '../accounts/further/quotas.ts'
import { estimateOf, type PriceList } from '../accounts/price.ts'
import type { AdmitResult, Amount, Rules, Soon } from '../accounts/store.ts'
import type { Limits } from '../config/snapshot.ts'
import type { Meter } from '../tokens/meter.ts'
import type { MeteredAttempt } from '../tokens/metered-attempt.ts'
import type { Spent } from '../upstream/attempt/attempts.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { chargeQuota } from './charging.ts'
import { Lease } from './leases.ts'
import { searchesOf } from './offer.ts'
import type { LimitParts } from './parts.ts'
import { type Refused, refusedBy } from './refusal.ts'

/** An admitted request whose attempts may have quotas. */
export interface QuotaRequest {
  readonly id: string
  readonly request: ModelRequest
  readonly subject: QuotaSubject
  readonly limits: Limits
  /** The amount that the request holds of its tenant's limits. */
  readonly held: Amount
  readonly meter: Meter
}

/** An upstream as quotas see it. */
export interface QuotaTarget {
  readonly name: string
  readonly settings: { readonly model: string }
}

interface Attempted {
  readonly lease: Lease
  /** Several if the upstream gets the request in several forms. */
  readonly metered: MeteredAttempt[]
}

export class AttemptQuotas {
  readonly #asked: QuotaRequest
  readonly #quotas: Quotas
  readonly #gateway: LimitParts
  #attempts = 0
  /** The attempt that runs, or whose answer is sent. */
  #running: Attempted | undefined

  constructor(asked: QuotaRequest, quotas: Quotas, gateway: LimitParts) {
    this.#asked = asked
    this.#quotas = quotas
    this.#gateway = gateway
  }

  /** Before each attempt. Returns why the upstream is passed over; undefined: the attempt may begin. */
  take(target: QuotaTarget): Soon<Spent | undefined> {
    this.end()
    const quota = this.#quotas.of(target.name)
    const rules = quota?.rulesFor(this.#asked.subject, target.settings.model, this.#gateway.clock)
    if (quota === undefined || rules === undefined) return undefined
    const { store, refusals, clock } = this.#gateway
    const known = refusals.of(quota.account, rules, clock.now())
    if (known !== undefined) return this.#passOver(quota, rules, known)
    const id = `${this.#asked.id}/${++this.#attempts}`
    const estimate = quotaEstimate(target, this.#asked)
    const result = store.admit({ tenant: quota.account, id, rules, estimate })
    const conclude = (made: AdmitResult) => this.#concluded(made, { quota, rules, id, estimate })
    return result instanceof Promise ? result.then(conclude) : conclude(result)
  }

  /** The attempt is sent. */
  begin(metered: MeteredAttempt): void {
    this.#running?.metered.push(metered)
  }

  /** The attempt has failed, or its charges are final: the upstream is free of it. */
  end(): void {
    const running = this.#running
    this.#running = undefined
    if (running !== undefined) chargeQuota(running.lease, this.#gateway)
  }

  #concluded(
    made: AdmitResult,
    {
      quota,
      rules,
      id,
      estimate,
    }: {
      readonly quota: Quota
      readonly rules: Rules
      readonly id: string
      readonly estimate: Amount
    },
  ): Spent | undefined {
    const { refusals, leases, clock } = this.#gateway
    if (made.outcome === 'refused') {
      refusals.learn(quota.account, rules, made, clock.now())
      return this.#passOver(quota, rules, made)
    }
    const metered: MeteredAttempt[] = []
    const { scoped } = rules
    const hold = { tenant: quota.account, id, budget: undefined, scoped }
    const lease = new Lease(hold, estimate, () => this.#usedBy(metered))
    leases.add(lease)
    this.#running = { lease, metered }
    return undefined
  }

  #usedBy(metered: readonly MeteredAttempt[]): Amount {
    const { limits, meter, request } = this.#asked
    const charges = meter.charges(request)
    return limits.chargeOf(charges.filter(({ attempt }) => metered.includes(attempt)))
  }

  #passOver({ upstream }: Quota, rules: Rules, refused: Refused): Spent {
    const { metrics, clock } = this.#gateway
    if (refused.scope !== undefined)
      metrics.quotaPassedOver.at(upstream, refused.scope.name, refused.by).value++
    return spentBy(refused, rules, clock)
  }
}

export function spentBy(refused: Refused, rules: Rules, clock: LimitParts['clock']): Spent {
  const { message, facts } = refusedBy(refused, rules, clock.wall())
  return {
    // Without the point of a sentence.
    why: message.replace(/\.$/, ''),
    until: clock.now() + refused.retryAfterMs,
    facts,
  }
}

/** At the price of the upstream, which need not be the highest of the route. */
export function quotaEstimate(
  { settings }: QuotaTarget,
  {
    held,
    limits: { prices },
    request,
  }: {
    readonly held: Amount
    readonly limits: { readonly prices: PriceList }
    readonly request: ModelRequest
  },
): Amount {
  const { tokens, input = 0 } = held
  return estimateOf(input, tokens - input, prices.get(settings.model), searchesOf(request))
}
