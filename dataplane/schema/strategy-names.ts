/** Every strategy name a route may hold. */
export const STRATEGY_NAMES = [
  'single',
  'round_robin',
  'least_queue',
  'weighted',
  'primary_with_fallback',
  'semantic',
] as const
export type StrategyName = (typeof STRATEGY_NAMES)[number]
