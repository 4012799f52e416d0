/** Peers of the benchmark that have a cap and, some of them, keys that can be taken away while they run. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { bringEnvoy } from '../peers/envoy.ts'
import { bringOnwards } from '../peers/onwards.ts'
import type { Peer } from '../peers/peer.ts'
import { bringRouters } from '../peers/routers.ts'
import { untilServing } from './one-process.ts'
import type { Running, System, Terms } from './system.ts'

const RATE = 'a rate of requests'
const LOCAL = 'it counts within one process'
const NO_MONEY = 'it charges nothing'
const ALONE = { slots: LOCAL, store: LOCAL, 'cached tokens': NO_MONEY, aborted: NO_MONEY }
const ENVOY_ALONE =
  'it counts within one process; [a shared rate](https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/rate_limit_filter) needs a separate service'
const SMG_ALONE =
  'it counts within one process; [limits of a tenant](https://raw.githubusercontent.com/smg-project/smg-docs/main/src/lib/content/reference/tenant-rate-limiting.md) do not apply to model servers with HTTP'

export function envoySystem(): System {
  const envoy = bringEnvoy().find(({ name }) => name === 'envoy-governed')
  if (envoy === undefined) throw new Error('Envoy is not among the peers.')
  return systemOf(envoy, RATE, { ...ALONE, slots: ENVOY_ALONE, store: ENVOY_ALONE })
}

export function onwardsSystem(): System {
  return systemOf(bringOnwards(), RATE, ALONE)
}

export function routerSystems(): System[] {
  return bringRouters().map((peer) => {
    const revocation =
      peer.name === 'vllm-router' ? 'it checks no key' : 'its keys are arguments of its start'
    const own = peer.name === 'smg' ? { slots: SMG_ALONE, store: SMG_ALONE } : {}
    return systemOf(peer, 'running requests', { ...ALONE, ...own, revocation })
  })
}

function systemOf(peer: Peer, cap: string, lacks: System['lacks']): System {
  return { name: peer.title, cap, lacks, start: (terms) => start(peer, terms) }
}

async function start(peer: Peer, terms: Terms): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-governed-'))
  const [port, secondPort] = [await freePort(), await freePort()]
  const upstreamPort = Number(new URL(terms.upstreamUrl).port)
  const { requestsMax } = terms
  const started = peer.start({ folder, port, secondPort, upstreamPort, requestsMax })
  const serving = await untilServing(started.process, { folder, port, healthPath: peer.healthPath })
  return {
    ...serving,
    async kill() {
      await serving.stop()
      return await start(peer, terms)
    },
    async revoke() {
      started.revoke?.()
    },
  }
}
