/** The tokens that the simulated models of `startModels` served, and those that the budget of a tenant shows. */
import { gw } from '../helpers/gw.ts'
import { SPACE } from './spaces.ts'
import type { World } from './world.ts'

export interface Figures {
  readonly served: number
  readonly charged: number
  /** Requests that still run, and the tokens that they hold. */
  readonly running: number
  readonly held: number
}

interface Standing {
  readonly concurrent_requests: { readonly used: number }
  readonly tokens_per_day: { readonly used: number; readonly reserved: number }
}

const COUNTERS = /^vllm:(?:prompt|generation)_tokens_total\S* (\d+)/gm

/** Both since the returned function was made: models also served other gateways before. */
export async function openBooks(world: World, name: string, tenant: string) {
  const start = await figures(world, name, tenant)
  return async (): Promise<Figures> => {
    const { served, charged, ...rest } = await figures(world, name, tenant)
    return { served: served - start.served, charged: charged - start.charged, ...rest }
  }
}

async function figures(world: World, name: string, tenant: string): Promise<Figures> {
  let served = 0
  for (const model of ['fast', 'slow']) {
    const path = `/api/v1/namespaces/${SPACE}/services/${model}:9000/proxy/metrics`
    const text = await world.kubectl(['get', '--raw', path])
    for (const [, tokens] of text.matchAll(COUNTERS)) served += Number(tokens)
  }
  const place = ['--kubeconfig', process.env.E2E_KUBECONFIG ?? '', '-n', SPACE, '--gateway', name]
  const { code, stdout, stderr } = await gw('limits', 'show', ...place, tenant, '-o', 'json')
  if (code !== 0) throw new Error(`gw limits show ended with ${code}: ${stderr}`)
  const { concurrent_requests, tokens_per_day }: Standing = JSON.parse(stdout)
  const { used: charged, reserved: held } = tokens_per_day
  return { served, charged, running: concurrent_requests.used, held }
}
