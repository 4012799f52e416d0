/** Configurations that differ only in the number of tenants, keys, routes or upstreams. */
import { crowd, governed, KEY, ROUTE, record } from './gateway.ts'

/** The maximum of routes and of upstreams in a configuration. */
const ROUTES_MAX = 1_024

type Settings = (count: number, upstreamPort: number) => object

export const GROWING: Readonly<Record<string, Settings>> = {
  tenants: (count) => crowd(count),
  keys: (count) => ({
    api_keys: Array.from({ length: count }, (_, index) =>
      record('t1', index === count - 1 ? KEY : `key ${index}`, `k-${index}`),
    ),
  }),
  routes: (count) => ({
    routes: names(count, ROUTE).map((name) => ({ name, strategy: 'single', primary: 'up' })),
  }),
  upstreams: (count, port) => ({
    upstreams: names(count, 'up').map((name) => upstream(name, port)),
    routes: names(count, 'up').map((primary) => ({
      name: primary === 'up' ? ROUTE : `to-${primary}`,
      strategy: 'single',
      primary,
    })),
  }),
}

export function sizesOf(what: string, sizes: readonly number[]): number[] {
  const isBounded = what === 'routes' || what === 'upstreams'
  return sizes.filter((size) => !isBounded || size <= ROUTES_MAX)
}

export function sizedSettings(what: string, count: number, upstreamPort: number): object {
  return { ...governed(), ...GROWING[what]?.(count, upstreamPort) }
}

/** Requests use the last one. */
function names(count: number, last: string): string[] {
  return Array.from({ length: count }, (_, index) => (index === count - 1 ? last : `n${index}`))
}

/** Probes are rare, because they are work for every upstream, even without requests. */
function upstream(name: string, port: number) {
  return {
    name,
    provider: 'vllm',
    endpoint: `http://127.0.0.1:${port}`,
    model: 'bench-model',
    context_window: 32_768,
    health_check: { interval_seconds: 600 },
  }
}
