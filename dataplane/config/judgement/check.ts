/** The rules between fields. Each check is a named pure function; the order here has no meaning. */
import { addressChecks } from '../checks/addresses.ts'
import { auxiliaryChecks } from '../checks/auxiliaries.ts'
import { budgetChecks } from '../checks/budgets.ts'
import type { Check, CheckContext } from '../checks/contract.ts'
import { credentialChecks } from '../checks/credentials.ts'
import { duplicateChecks } from '../checks/duplicates.ts'
import { egressChecks } from '../checks/egress.ts'
import { fallbackChecks } from '../checks/fallbacks.ts'
import { keyChecks } from '../checks/keys.ts'
import { limitChecks } from '../checks/limits.ts'
import { listenerChecks } from '../checks/listener.ts'
import { nameChecks } from '../checks/names.ts'
import { priceChecks } from '../checks/prices.ts'
import { probeChecks } from '../checks/probes.ts'
import { semanticChecks } from '../checks/semantic.ts'
import { strategyChecks } from '../checks/strategies.ts'
import { upstreamChecks } from '../checks/upstreams.ts'
import { weightChecks } from '../checks/weights.ts'
import type { Section } from '../schema/index.ts'
import type { Finding } from './problems.ts'

const CHECKS_OF_FACTS: readonly Check[] = [
  ...addressChecks,
  ...auxiliaryChecks,
  ...budgetChecks,
  ...credentialChecks,
  ...duplicateChecks,
  ...egressChecks,
  ...keyChecks,
  ...limitChecks,
  ...listenerChecks,
  ...nameChecks,
  ...priceChecks,
]

/** These judge a route by its strategy and an upstream by its provider. */
const CHECKS_OF_CHOICES: readonly Check[] = [
  ...fallbackChecks,
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
