/** Routes as members of routes: circles, settings that the outer route would skip, strategies without their facts. */
import { type Row, testRefusals } from './documents.ts'

const ROWS: Row[] = [
  {
    name: 'routes that lead in a circle',
    yaml: `  routes:
    - {name: r, strategy: single, upstreams: [{route: s}]} # here
    - {name: s, strategy: single, primary: a, fallback: [{route: t}]}
    - {name: t, strategy: round_robin, upstreams: [{route: r}, b]}
`,
    path: 'gw.routes[0]',
    says: 'leads back to itself: r > s > t > r',
    fix: 'Remove one',
  },
  {
    name: 'a member route that does not exist',
    yaml: `  routes:
    - name: r
      strategy: round_robin
      upstreams: [a, {route: s}] # here
`,
    path: 'gw.routes[0].upstreams[1].route',
    says: 'unknown route "s"',
    fix: 'Use one of',
  },
  {
    name: 'a route named like an upstream',
    yaml: `  routes:
    - {name: s, strategy: round_robin, upstreams: [a, b]}
    - {name: r, strategy: single, primary: a, fallback: [s]} # here
`,
    path: 'gw.routes[1].fallback[0]',
    says: '"s" is a route, not an upstream',
    fix: '{route: s}',
  },
  {
    name: 'a nested route whose guardrails would be skipped',
    yaml: `  guardrails: [{name: g, endpoint: "http://g.example"}]
  routes:
    - {name: s, strategy: single, primary: a, guardrails: [g]}
    - {name: r, strategy: single, primary: b, fallback: [{route: s}]} # here
`,
    path: 'gw.routes[1]',
    says: 'skips guardrails of route "s": "g"',
    fix: 'Add guardrails here too',
  },
  {
    name: 'a fallback that the strategy chooses already',
    yaml: `  routes:
    - {name: r, strategy: round_robin, upstreams: [a, b], fallback: [b]} # here
`,
    path: 'gw.routes[0].fallback[0]',
    says: 'is chosen by the strategy already',
    fix: 'Remove it here',
  },
  {
    name: 'overflow without a fallback',
    yaml: `  routes:
    - {name: r, strategy: round_robin, upstreams: [a, b], overflow: {on_timeout: fallback}} # here
`,
    path: 'gw.routes[0].overflow',
    says: 'the route has no fallback',
    fix: 'list upstreams in fallback',
  },
  {
    name: 'the lowest price where there are none',
    yaml: `  routes:
    - {name: r, strategy: cheapest, upstreams: [a, b]} # here
`,
    path: 'gw.routes[0].strategy',
    says: 'no upstream of the route has a price',
    fix: 'pricing',
  },
]

testRefusals(ROWS)
