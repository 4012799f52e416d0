/** The rules between fields. Each check is a named pure function; their order has no meaning. */

import type { Section } from '../../schema/index.ts'
import type { Finding } from '../judgement/problems.ts'
import { auxiliaryChecks } from './auxiliaries.ts'
import { cacheChecks } from './caches.ts'
import type { Check, CheckContext } from './contract.ts'
import { duplicateChecks } from './duplicates.ts'
import { idleChecks } from './idle-settings.ts'
import { listenerChecks } from './listener.ts'
import { listenerTlsChecks } from './listener-tls.ts'
import { nameChecks } from './names.ts'
import { embeddingsChecks } from './routes/embeddings.ts'
import { fallbackChecks } from './routes/fallbacks.ts'
import { nestingChecks } from './routes/nesting.ts'
import { rolloutChecks } from './routes/rollouts.ts'
import { semanticChecks } from './routes/semantic.ts'
import { shadowChecks } from './routes/shadows.ts'
import { strategyChecks } from './routes/strategies.ts'
import { sunsetChecks } from './routes/sunsets.ts'
import { traceChecks } from './routes/traces.ts'
import { weightChecks } from './routes/weights.ts'
import { telemetryChecks } from './telemetry.ts'
import { budgetChecks } from './tenants/budgets.ts'
import { callerChecks } from './tenants/callers.ts'
import { furtherBudgetChecks } from './tenants/further-budgets.ts'
import { furtherLimitChecks } from './tenants/further-limits.ts'
import { holderChecks } from './tenants/holders.ts'
import { issuerChecks } from './tenants/issuers.ts'
import { keyChecks } from './tenants/keys.ts'
import { limitChecks } from './tenants/limits.ts'
import { placementChecks } from './tenants/placements.ts'
import { priceChecks } from './tenants/prices.ts'
import { quotaChecks } from './tenants/quotas.ts'
import { addressChecks } from './upstreams/addresses.ts'
import { allowChecks } from './upstreams/allow.ts'
import { anyModelChecks } from './upstreams/any-model.ts'
import { capabilityChecks } from './upstreams/capabilities.ts'
import { coldStartChecks } from './upstreams/cold-start.ts'
import { credentialChecks } from './upstreams/credentials.ts'
import { egressChecks } from './upstreams/egress.ts'
import { endpointChecks } from './upstreams/endpoints.ts'
import { fairnessChecks } from './upstreams/fairness.ts'
import { parameterChecks } from './upstreams/parameters.ts'
import { plainHttpChecks } from './upstreams/plain-http.ts'
import { probeChecks } from './upstreams/probes.ts'
import { upstreamChecks } from './upstreams/upstreams.ts'
import { usageChecks } from './usage.ts'
import { vectorStoreChecks } from './vector-stores.ts'

const CHECKS_OF_FACTS: readonly Check[] = [
  ...addressChecks,
  ...allowChecks,
  ...anyModelChecks,
  ...auxiliaryChecks,
  ...budgetChecks,
  ...capabilityChecks,
  ...coldStartChecks,
  ...credentialChecks,
  ...duplicateChecks,
  ...embeddingsChecks,
  ...furtherBudgetChecks,
  ...quotaChecks,
  ...furtherLimitChecks,
  ...holderChecks,
  ...egressChecks,
  ...endpointChecks,
  ...issuerChecks,
  ...callerChecks,
  ...keyChecks,
  ...limitChecks,
  ...listenerChecks,
  ...listenerTlsChecks,
  ...nameChecks,
  ...nestingChecks,
  ...parameterChecks,
  ...placementChecks,
  ...plainHttpChecks,
  ...priceChecks,
  ...rolloutChecks,
  ...shadowChecks,
  ...sunsetChecks,
  ...telemetryChecks,
  ...traceChecks,
  ...usageChecks,
  ...vectorStoreChecks,
]

/** These check a route by its strategy and an upstream by its provider. */
const CHECKS_OF_CHOICES: readonly Check[] = [
  ...cacheChecks,
  ...fairnessChecks,
  ...fallbackChecks,
  ...idleChecks,
  ...probeChecks,
  ...semanticChecks,
  ...strategyChecks,
  ...upstreamChecks,
  ...weightChecks,
]

export function check(section: Section, context: CheckContext): Finding[] {
  return [...checkFacts(section, context), ...checkChoices(section, context)]
}

export function checkFacts(section: Section, context: CheckContext): Finding[] {
  return CHECKS_OF_FACTS.flatMap((one) => one(section, context))
}

export function checkChoices(section: Section, context: CheckContext): Finding[] {
  return CHECKS_OF_CHOICES.flatMap((one) => one(section, context))
}
