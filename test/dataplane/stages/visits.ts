/** Visits for stages: of a caller with a key, on a configuration that is compiled like any other. */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { compile, type Snapshot } from '../../../dataplane/config/snapshot.ts'
import type { Visit } from '../../../dataplane/gateway.ts'

export const NOW = Date.UTC(2026, 10, 21)

/** A key's record; its secret is `key-<id>`. */
export interface KeyFields {
  readonly id: string
  readonly [field: string]: unknown
}

export function aSnapshot(
  keys: readonly KeyFields[],
  aliases: Readonly<Record<string, string>> = { 'gpt-4o': 'chat' },
): Snapshot {
  const upstream = { name: 'up', provider: 'vllm', endpoint: 'http://127.0.0.1:1/v1', model: 'm' }
  const routes = ['chat', 'batch'].map((name) => ({ name, strategy: 'single', primary: 'up' }))
  const records = keys.map((fields) => ({
    tenant: 'acme',
    routes: ['*'],
    hash: `sha256:${hash('sha256', `key-${fields.id}`)}`,
    ...fields,
  }))
  const gw = { upstreams: [upstream], routes, aliases, api_keys: records }
  const document = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw }
  const host = { env: {}, readText: () => '' }
  const loaded = loadConfiguration(JSON.stringify(document), 'test.yaml', host)
  if (loaded.configuration === undefined) throw new Error(JSON.stringify(loaded.problems))
  return compile(loaded.configuration)
}

/** As far as the stages before admission look at one. */
export function aVisit(snapshot: Snapshot, headers: IncomingHttpHeaders = {}): Visit {
  const visit = {
    call: { incoming: { headers } },
    response: { route: 'none' },
    trace: {} as { tenant?: string; key?: string; model?: string },
    gateway: { clock: { wall: () => NOW } },
    active: { snapshot },
  }
  // These stages read no more of it than what is there.
  return visit as unknown as Visit
}
