/** All peers, by their names in the arguments. Each function brings its programs first. */
import { bringEnvoy } from './envoy.ts'
import { bringLiteLlm, bringPortkey } from './gateways.ts'
import { bringOnwards } from './onwards.ts'
import type { Peer } from './peer.ts'
import { bringRouters } from './routers.ts'

export const BRINGERS: Readonly<Record<string, () => Peer[]>> = {
  envoy: bringEnvoy,
  onwards: () => [bringOnwards()],
  routers: bringRouters,
  portkey: () => [bringPortkey()],
  litellm: () => [bringLiteLlm()],
}
