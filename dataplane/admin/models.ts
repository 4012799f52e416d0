/** The body of GET /models: the names that clients may send, and their present upstreams. */
import { isPattern } from '../config/routes/model-names.ts'
import { shownSunset } from '../config/routes/sunsets.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { windowOf } from '../upstream/live/targets.ts'

export function modelsOf({ active, clock }: Gateway) {
  const { routes, section, sunsets } = active.snapshot
  const names = [
    ...[...routes.keys()].map((name) => ({ name, kind: 'route', route: name })),
    ...Object.entries(section.aliases).map(([name, route]) => ({
      name,
      kind: isPattern(name) ? 'pattern' : 'alias',
      route,
    })),
  ]
  const now = clock.now()
  return names.map(({ name, kind, route }) => {
    const lane = active.lanes.get(route)
    const sunset = sunsets?.of(name, route)
    return {
      name,
      kind,
      route,
      strategy: routes.get(route)?.strategy.name,
      context_window: windowOf(lane),
      ...(sunset && { deprecated: shownSunset(sunset) }),
      upstreams: (lane?.targets ?? []).map((target) => ({
        name: target.name,
        eligible: target.standing(now, false) === 'ready',
      })),
    }
  })
}
