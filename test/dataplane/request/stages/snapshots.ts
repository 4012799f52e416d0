/** Configurations for stages, compiled like any other. */
import { hash } from 'node:crypto'
import type { Loaded } from '../../../../dataplane/config/apart/loaded.ts'
import { loadConfiguration } from '../../../../dataplane/config/load.ts'
import { compile, type Snapshot } from '../../../../dataplane/config/snapshot.ts'

export const NOW = Date.UTC(2026, 10, 21)

/** What `${env:SECRET}` is. */
export const SECRET = 'plain-secret-of-the-test'

/** A key's record; its secret is `key-<id>`. */
export interface KeyFields {
  readonly id: string
  readonly [field: string]: unknown
}

export function aSnapshot(
  keys: readonly KeyFields[],
  aliases: Readonly<Record<string, string>> = { 'gpt-4o': 'chat' },
): Snapshot {
  const records = keys.map((fields) => ({
    tenant: 'acme',
    routes: ['*'],
    hash: `sha256:${hash('sha256', `key-${fields.id}`)}`,
    ...fields,
  }))
  return aSnapshotOf({ aliases, api_keys: records })
}

/** From sections of the configuration. Without any there are the routes `chat` and `batch`, both to one upstream. */
export function aSnapshotOf(gw: Readonly<Record<string, unknown>>): Snapshot {
  const { configuration, problems } = load(gw)
  if (configuration === undefined) throw new Error(JSON.stringify(problems))
  return compile(configuration)
}

/** The same as loaded, with its problems. */
export function load(gw: Readonly<Record<string, unknown>>): Loaded {
  // The gateway never reads a hosted API's health, queue or window.
  const upstream = { name: 'up', provider: 'openai', endpoint: 'http://127.0.0.1:1', model: 'm' }
  const routes = ['chat', 'batch'].map((name) => ({ name, strategy: 'single', primary: 'up' }))
  const whole = { upstreams: [upstream], routes, api_keys: [], ...gw }
  const document = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw: whole }
  const host = { env: { SECRET }, readText: () => '' }
  return loadConfiguration(JSON.stringify(document), 'test.yaml', host)
}
