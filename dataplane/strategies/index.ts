/** The registry of strategies: one line each. */

import type { StrategyName } from '../schema/constants.ts'
import { cheapest } from './cheapest.ts'
import type { Strategy } from './contract.ts'
import { fastest } from './fastest.ts'
import { leastQueue } from './least-queue.ts'
import { primaryWithFallback } from './primary-with-fallback.ts'
import { roundRobin } from './round-robin.ts'
import { semantic } from './semantic.ts'
import { single } from './single.ts'
import { weighted } from './weighted.ts'

export const STRATEGIES: Readonly<Partial<Record<StrategyName, Strategy>>> = {
  single,
  round_robin: roundRobin,
  least_queue: leastQueue,
  weighted,
  primary_with_fallback: primaryWithFallback,
  semantic,
  fastest,
  cheapest,
}
