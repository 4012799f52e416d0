/** Incidents that requests show: at the provider, at the replicas, in limits, keys and names. */
import { gatewayKey } from '../objects.ts'
import { type Incident, removed } from './incident.ts'
import { NAME, replicas, routes, upstreams } from './rig.ts'

const atProvider = (what: string, mode: string, names: RegExp): Incident => ({
  what,
  plant: ({ fails }) => fails('faulty', mode),
  asks: { model: 'chat' },
  names,
  lift: ({ fails }) => fails('faulty', 'fine'),
})

export const REQUESTS: readonly Incident[] = [
  atProvider(
    'a wrong key of a provider',
    'badkey',
    /upstream hosted refuses the gateway's credential \(401 Incorrect API key provided/,
  ),
  atProvider('the quota of a provider', 'noquota', /the quota of upstream hosted is used up \(429/),
  atProvider(
    'the rate limit of a provider',
    'limited',
    /upstream hosted limits the rate of the gateway's requests \(429/,
  ),
  atProvider(
    'a model server out of memory',
    'broken',
    /upstream hosted answers with errors \(500 CUDA out of memory/,
  ),
  atProvider('a silent model server', 'silent', /upstream hosted sends no answer in time/),
  {
    what: 'an edit that misspells the model',
    async plant({ configure }) {
      const [hosted] = upstreams
      await configure({ gw: { upstreams: [{ ...hosted, model: 'misspelt' }, replicas] } })
    },
    asks: { model: 'chat' },
    names:
      /upstream hosted does not know the model or the path \(404 The model "misspelt" does not exist\).*the configuration was edited (?:\d+ seconds? before|in that minute)/,
    lift: ({ configure }) => configure(),
  },
  {
    what: 'a model server that is gone',
    plant: ({ scale }) => scale('faulty', 0),
    asks: { model: 'chat' },
    names: /upstream hosted cannot be reached \(/,
    lift: ({ scale }) => scale('faulty', 1),
  },
  {
    what: 'one slow replica',
    plant: ({ fails }) => fails('shared', 'slow', true),
    asks: { model: 'spread', count: 12 },
    names: /replica [\d.]+:9000 of upstream replicas is slow: its median answer takes \d+ ms/,
    lift: ({ fails }) => fails('shared', 'fine'),
  },
  {
    what: 'the budget of a group',
    plant: async () => undefined,
    asks: { tenant: 'research', model: 'chat' },
    names: /402 .*a budget of tenant research is used up \(.*research/,
  },
  {
    what: 'a tenant above its rate',
    plant: async () => undefined,
    asks: { tenant: 'batch', model: 'chat' },
    names: /429 .*tenant batch is above a limit \(The limit of 1 requests a minute/,
  },
  expiredKey(),
  {
    what: 'a client with a wrong key',
    plant: async () => undefined,
    asks: { key: 'gw_live_nobody_0123456789', model: 'chat' },
    names: /the gateway answers 401 for .*clients send a wrong key/,
  },
  {
    what: 'an alias that shadows a route',
    async plant({ ask, configure, enforced }) {
      await ask({ model: 'gpt-4o', count: 2 })
      await configure({ gw: { aliases: { 'gpt-4o': 'chat' } } })
      await enforced()
    },
    asks: { model: 'gpt-4o' },
    names: /the name gpt-4o is an alias of route chat now, and led to route spread before/,
    lift: ({ configure }) => configure(),
  },
  {
    what: 'a client that asks for a wrong name',
    plant: async () => undefined,
    asks: { model: 'gpt-5' },
    names: /tenant acme asks for a name that leads nowhere \(/,
  },
  {
    what: 'a TenantPolicy that allows no upstream',
    async plant({ world, configure }) {
      const from = [{ namespaces: ['ai'], tenants: ['acme'] }]
      await configure({ spec: { tenants: { from } } })
      await world.apply({
        apiVersion: 'inference.gw/v1alpha1',
        kind: 'TenantPolicy',
        metadata: { name: 'abroad', namespace: 'ai' },
        spec: { gateway: NAME, tenant: 'acme', requires: { region: 'eu' } },
      })
    },
    asks: { model: 'chat' },
    names:
      /403 .*tenant acme may not do this \(No upstream of route "chat" is one .* lacks region=eu/,
    async lift({ kubectl, configure }) {
      await kubectl('delete', 'tenantpolicy', 'abroad', '--ignore-not-found')
      await configure()
    },
  },
  {
    what: 'all pods of an upstream are gone',
    plant: ({ scale }) => scale('shared', 0),
    asks: { model: 'spread' },
    names: /replicas.*(?:no pod|no endpoint|no address)/i,
    lift: ({ scale }) => scale('shared', 2),
  },
  {
    what: 'a Service that is missing',
    async plant({ configure }) {
      const [hosted] = upstreams
      const endpoint = 'http://sharde:9000'
      await configure({ gw: { upstreams: [hosted, { ...replicas, endpoint }], routes } })
    },
    asks: { model: 'spread' },
    names: /sharde/,
    lift: ({ configure }) => configure(),
  },
]

function expiredKey(): Incident {
  const { key, object } = gatewayKey(NAME, 'acme')
  return {
    what: 'an expired key of a client',
    async plant({ world }) {
      const expiresAt = new Date(Date.now() + 6000).toISOString()
      const { spec, ...rest } = object as { readonly spec: object }
      await world.apply({ ...rest, spec: { ...spec, expiresAt } })
    },
    asks: { key, model: 'chat', count: 2 },
    names: new RegExp(
      `key ${(object as { metadata: { name: string } }).metadata.name} has expired`,
    ),
    lift: (rig) => removed(rig, 'gatewaykey', object),
  }
}
