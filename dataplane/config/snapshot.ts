/** The compiled configuration: everything a request looks up, resolved and indexed once. */
import { hash } from 'node:crypto'
import { compileFurther, type FurtherLimits } from '../accounts/further/limits.ts'
import { compileQuotas, type Quotas } from '../accounts/further/quotas.ts'
import { chargeOf, compilePrices, type PriceList } from '../accounts/price.ts'
import { compileRules, type TenantRules } from '../accounts/rules.ts'
import type { Amount } from '../accounts/store.ts'
import { type Keys, KeyTable, keyOf } from '../call/key-entry.ts'
import { keepaliveSeconds } from '../schema/constants.ts'
import type { Configuration, Section } from '../schema/index.ts'
import type { Usage } from '../wire/inner-form.ts'
import { CertificateNames } from './certificate-names.ts'
import { ModelNames } from './routes/model-names.ts'
import { NamedModels } from './routes/named-models.ts'
import { Placements } from './routes/placements.ts'
import { known, type Route, routesOf } from './routes/route.ts'
import { Sunsets } from './routes/sunsets.ts'
import { settingsOf, type UpstreamSettings } from './upstreams/settings.ts'

export type { Route } from './routes/route.ts'
export type { UpstreamSettings } from './upstreams/settings.ts'

/** The limits of tenants, and the prices of models. */
export interface Limits {
  readonly rules: TenantRules
  /** Those of `limits[]`; absent if there are none. */
  readonly further: FurtherLimits | undefined
  /** Those of `limits[]` that are for upstreams; absent if there are none. */
  readonly quotas: Quotas | undefined
  readonly prices: PriceList
  /** Where requests are served while a budget is spent, by name. */
  readonly downgrades: ReadonlyMap<string, Route>
  chargeOf(charges: readonly Charge[]): Amount
}

interface Charge {
  readonly attempt: { readonly model: string }
  readonly usage: Usage
}

export interface Snapshot {
  /** SHA-256 of the configuration as written, hex. */
  readonly hash: string
  readonly configuration: Configuration
  readonly section: Section
  readonly upstreams: ReadonlyMap<string, UpstreamSettings>
  readonly routes: ReadonlyMap<string, Route>
  /** Route by every name a client may send: routes first, then aliases. */
  readonly models: ModelNames<Route>
  /** Absent if no tenant requires labels of upstreams. */
  readonly placements: Placements | undefined
  /** Absent if no name is deprecated. */
  readonly sunsets: Sunsets | undefined
  /** By lower-case hex SHA-256 of the whole key. */
  readonly keys: Keys
  /** Callers by the certificate that they show. */
  readonly certificates: CertificateNames
  readonly limits: Limits
  /** How long an idle connection of a client is kept. */
  readonly keepaliveMs: number
}

/** Facts of a pod besides the delivered configuration. */
export interface Delivered {
  /** SHA-256 of the user's text, hex: the same in every pod, although their secrets may differ. */
  readonly hash: string
  /** The keys of a separate document. They change in place: a revocation waits for no configuration. */
  readonly keys: Keys
  /** Upstreams that cannot be used, and why. */
  readonly disabled: ReadonlyMap<string, string>
}

/** Compiles a checked configuration; throws only for a mistake of the checks. */
export function compile(configuration: Configuration, delivered?: Delivered): Snapshot {
  const section = configuration.gw
  const upstreams = new Map(
    section.upstreams.map((entry) => [
      entry.name,
      settingsOf(entry, delivered?.disabled.get(entry.name)),
    ]),
  )
  const routes = new Map(routesOf(section, upstreams).map((route) => [route.name, route]))
  const aliases = Object.entries(section.aliases).map(
    ([alias, name]) => [alias, known(routes, name)] as const,
  )
  const named = new NamedModels()
  return Object.freeze({
    hash: delivered?.hash ?? hash('sha256', JSON.stringify(configuration.gw)),
    configuration,
    section,
    upstreams,
    routes,
    models: new ModelNames([...routes, ...aliases], (route, sent, prefix) =>
      named.routeFor(route, sent, prefix),
    ),
    placements: Placements.of(section),
    sunsets: Sunsets.of(section),
    certificates: new CertificateNames(section.auth.certificates),
    limits: limitsOf(section, routes),
    keepaliveMs: keepaliveSeconds(section.gateway, delivered === undefined ? 'file' : 'pod') * 1000,
    keys:
      delivered?.keys ??
      KeyTable.of(
        section.api_keys.map((record) => [record.hash.slice('sha256:'.length), keyOf(record)]),
      ),
  })
}

/** Every tenant has limits: what a file leaves out is 120 / 30 / 16. */
function limitsOf(section: Section, routes: ReadonlyMap<string, Route>): Limits {
  const prices = compilePrices(section.pricing)
  const downgrades = new Map<string, Route>()
  const budgets = [...section.budgets, ...section.limits.flatMap(({ budget }) => budget ?? [])]
  for (const { on_exceeded, downgrade_route } of budgets) {
    if (on_exceeded !== 'downgrade' || downgrade_route === undefined) continue
    downgrades.set(downgrade_route, known(routes, downgrade_route))
  }
  return {
    rules: compileRules(section),
    further: compileFurther(section.limits),
    quotas: compileQuotas(section.limits),
    prices,
    downgrades,
    chargeOf: (charges) =>
      chargeOf(
        charges.map(({ attempt, usage }) => ({ model: attempt.model, usage })),
        prices,
      ),
  }
}
