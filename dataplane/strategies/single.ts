/** One upstream only. */
import type { Strategy } from './contract.ts'

export const single: Strategy = {
  name: 'single',
  summary: 'One upstream only: the primary, else the only entry of upstreams.',
  members(route) {
    const name = route.primary ?? route.upstreams[0]?.name
    return name === undefined ? [] : [name]
  },
  order: ({ eligible }) => eligible,
}
