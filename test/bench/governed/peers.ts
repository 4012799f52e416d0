/** Other systems with the checks that they have without a further service. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { KEY } from '../gateway.ts'
import { bringEnvoy } from '../peers/envoy.ts'
import { type Process, untilReady } from '../processes.ts'
import type { Running, System } from './system.ts'

const NO_ACCOUNTS = 'it keeps no accounts of money'
const NO_STORE = 'it shares its limits through a further service only'

/** Its rate is the cap: it has no budget. */
export function envoySystem(): System {
  const peer = bringEnvoy().find(({ name }) => name === 'envoy-governed')
  if (peer === undefined) throw new Error('Envoy is not among the peers.')
  return {
    name: peer.title,
    lacks: {
      slots: NO_STORE,
      slotSeconds: NO_STORE,
      lost: NO_STORE,
      lostMs: NO_STORE,
      revocation: 'its keys are in its static configuration; a change needs a control plane',
      cached: NO_ACCOUNTS,
      aborted: NO_ACCOUNTS,
    },
    async start({ upstreamUrl, requestsMax }) {
      const folder = mkdtempSync(join(tmpdir(), 'gw-governed-'))
      const port = await freePort()
      const options = { folder, port, secondPort: await freePort() }
      const upstreamPort = Number(new URL(upstreamUrl).port)
      const { process } = peer.start({ ...options, upstreamPort, requestsMax })
      await untilReady(process, `http://127.0.0.1:${port}${peer.healthPath}`)
      return running(process, port, folder)
    },
  }
}

function running(started: Process, port: number, folder: string): Running {
  const stop = async () => {
    await started.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { url: `http://127.0.0.1:${port}`, key: KEY, kill: stop, stop }
}

/** Systems whose books are not checked here, and why. */
export const ABSENT: readonly (readonly [name: string, reason: string])[] = [
  ['LiteLLM', 'its keys with limits, its budgets and its spend need PostgreSQL'],
  ['Portkey', 'its open gateway has no keys, limits or budgets'],
  ['vllm-router', 'it checks no key and has no budgets'],
  ['sglang-router, smg', 'they check a key and have no budgets'],
  ['Bifrost, onwards, any-llm', 'not brought yet'],
]
