/** Configurations for stages, compiled like any other. */
import { hash } from 'node:crypto'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { compile, type Snapshot } from '../../../dataplane/config/snapshot.ts'

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
