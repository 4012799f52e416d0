/** Names, bounds and defaults that a serving process needs too. It does not load the schema itself. */

/** Every strategy name a route may hold. */
export const STRATEGY_NAMES = [
  'single',
  'round_robin',
  'least_queue',
  'weighted',
  'primary_with_fallback',
  'semantic',
  'fastest',
  'cheapest',
] as const
export type StrategyName = (typeof STRATEGY_NAMES)[number]

/** Admin port of a pod, unless the configuration or GW_ADMIN_PORT sets another. */
export const POD_ADMIN_PORT = 9091

/** Load balancers of clusters keep connections for up to an hour, and the gateway has to keep them longer. */
const KEEPALIVE_SECONDS = { file: 75, pod: 3700 } as const

/** The reader of the configuration: a gateway of a file, or a pod of the operator. */
export type RunMode = keyof typeof KEEPALIVE_SECONDS

export function keepaliveSeconds(
  { keepalive_seconds }: { readonly keepalive_seconds?: number | undefined },
  place: RunMode,
): number {
  return keepalive_seconds ?? KEEPALIVE_SECONDS[place]
}

/** Bind address if neither the file nor the environment sets one. */
const LISTEN_ADDRESS = { file: '127.0.0.1', pod: '0.0.0.0' } as const

export function listenAddress(
  { listen_address }: { readonly listen_address?: string | undefined },
  place: RunMode,
): string {
  return listen_address ?? LISTEN_ADDRESS[place]
}

/** Default `timeout_seconds` of a stream. Other answers stay silent until they are whole, so they have no default. */
export const FIRST_CONTENT_SECONDS = 30

/** Most endpoints of one upstream, and of all upstreams of a gateway. */
export const ENDPOINTS_MAX = 256
export const ENDPOINTS_OF_ALL_MAX = 2000

/** Suffix of the host that is shown for a pool; never dialled. */
export const POOL_DOMAIN = '.inferencepool'

/** Values of tags, in rows of usage and in events. */
export const TAG_VALUE = /^[A-Za-z0-9_.:/@-]+$/
export const TAG_VALUE_MAX = 64

/** As the model of an upstream: it gets the model that the client names. */
export const ANY_MODEL = '*'

/** Before the name of a route that is a member of another one. */
export const NESTED = 'route '

/** The name of the route if the member of a route is one; undefined for an upstream. */
export function nestedRoute(member: string): string | undefined {
  return member.startsWith(NESTED) ? member.slice(NESTED.length) : undefined
}

/** The canonical form of `{route: NAME}`. No upstream has a name with a blank. */
export function asNested(route: string): string {
  return NESTED + route
}
