/** `overflow.on_slo_breach` without an objective, or without a fallback. */
import { type Row, testRefusals } from './documents.ts'

const withRoute = (fields: string) => `  routes:
    - name: r
      strategy: primary_with_fallback
      primary: a
${fields}
      overflow:
        on_slo_breach: fallback # here
`

const ROWS: Row[] = [
  {
    name: 'no objective',
    yaml: withRoute('      fallback: [b]'),
    path: 'gw.routes[0].overflow.on_slo_breach',
    says: 'cannot take effect: neither the route nor the gateway has an objective',
    fix: 'Add slo: {ttft_p95_ms: MILLISECONDS}',
  },
  {
    name: 'no fallback',
    yaml: withRoute('      slo: {ttft_p95_ms: 500}'),
    path: 'gw.routes[0].overflow.on_slo_breach',
    says: 'cannot take effect: the route has no fallback',
    fix: 'list upstreams in fallback',
  },
]

testRefusals(ROWS)
