/** The systems whose books are checked, by their names in the arguments, and those that could not be had. */
import { bringAnyLlm } from './any-llm.ts'
import { GATEWAYS } from './gw.ts'
import { bringLiteLlmSystem } from './litellm.ts'
import { envoySystem, onwardsSystem, routerSystems } from './peers.ts'
import type { System } from './system.ts'

/** Each brings its program first. */
export const SYSTEMS: Readonly<Record<string, () => readonly System[]>> = {
  gw: () => GATEWAYS.slice(0, 1),
  'gw-redis': () => GATEWAYS.slice(1),
  litellm: () => [bringLiteLlmSystem()],
  'any-llm': bringAnyLlm,
  envoy: () => [envoySystem()],
  onwards: () => [onwardsSystem()],
  routers: () => routerSystems(),
}

/** Those whose failed checks fail the run. */
export const OWN: readonly string[] = ['gw', 'gw-redis']

/** Systems without any figure, and why. */
export const ABSENT: readonly (readonly [name: string, reason: string])[] = [
  [
    'Portkey 1.15.2',
    'its open gateway checks no key and has no limits; [budgets and rates](https://portkey.ai/docs/product/administration/enforce-budget-and-rate-limit) are part of its hosted plans',
  ],
  [
    'Bifrost',
    'its npm package downloads the program from a separate site, and the Go module proxy does not serve its module',
  ],
  ['AISIX', 'crates.io, PyPI and npm do not have it'],
  [
    'Otari',
    'its packages on PyPI and crates.io are clients; any-llm 1.14.0 is the last release of its predecessor with the gateway',
  ],
]
