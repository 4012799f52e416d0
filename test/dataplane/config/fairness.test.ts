/** Fairness that cannot take effect is refused, and doubtful fairness is warned of. */
import { type Row, testRefusals, testWarnings } from './documents.ts'

const upstream = (fairness: string, more = 'max_queue_depth: 8') => `
  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192${more === '' ? '' : `, ${more}`}, fairness: ${fairness}} # here
    - {name: b, provider: vllm, endpoint: "http://b:8000", model: m, context_window: 8192, max_queue_depth: 50}
`
const HOSTED = `
  upstreams:
    - {name: a, provider: openai, api_key: "\${env:KEY}", model: m, context_window: 8192, max_queue_depth: 8, fairness: {max_reported_queue: 4}} # here
    - {name: b, provider: vllm, endpoint: "http://b:8000", model: m, context_window: 8192}
`
const routes = (first: string, second: string) => `
  routes:
    - {name: r, strategy: round_robin, upstreams: [a, b], fairness: ${first}}
    - {name: s, strategy: round_robin, upstreams: [a, b], fairness: ${second}} # here
`

const REFUSED: Row[] = [
  {
    name: 'guarantees of more than the upstream',
    yaml: upstream('{guarantee: {t: 0.7, u: 0.4}}'),
    path: 'gw.upstreams[0].fairness.guarantee',
    says: 'guarantees 110 % of the upstream',
    fix: 'sum up to 1',
  },
  {
    name: 'fairness of an upstream that is never full',
    yaml: upstream('{}', ''),
    path: 'gw.upstreams[0].fairness',
    says: '"a" is never full',
    fix: 'max_queue_depth',
  },
  {
    name: 'a reported queue that no runtime reports',
    yaml: HOSTED,
    path: 'gw.upstreams[0].fairness.max_reported_queue',
    says: 'the gateway reads no queue of "a"',
    fix: 'vllm',
  },
  {
    name: 'a weight of zero',
    yaml: upstream('{weights: {t: 0}}'),
    path: 'gw.upstreams[0].fairness.weights.t',
    says: '0',
    fix: '',
  },
  {
    name: 'two routes that disagree on one upstream',
    yaml: routes('{}', '{default_weight: 2}'),
    path: 'gw.routes[1].fairness',
    says: 'upstream "a" has another from route "r"',
    fix: 'Write the same at both',
  },
  {
    name: 'fairness of a route whose upstreams all have their own',
    yaml: `
  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192, max_queue_depth: 8, fairness: {}}
  routes:
    - {name: r, strategy: single, primary: a, fairness: {default_weight: 2}} # here
`,
    path: 'gw.routes[0].fairness',
    says: 'each upstream of the route has its own',
    fix: 'Remove it.',
  },
]

const WARNED: Row[] = [
  {
    name: 'a weight of a tenant that has no key',
    yaml: upstream('{weights: {tt: 2}}'),
    path: 'gw.upstreams[0].fairness.weights.tt',
    says: 'no key belongs to tenant "tt"; did you mean "t"?',
    fix: 'Correct the name',
  },
  {
    name: 'a guarantee of a tenant that has no key',
    yaml: upstream('{guarantee: {other: 0.2}}'),
    path: 'gw.upstreams[0].fairness.guarantee.other',
    says: 'no key belongs to tenant "other"',
    fix: 'Correct the name',
  },
  {
    name: 'a wait that leaves no time for an answer',
    yaml: `${upstream('{max_wait_seconds: 60}')}  gateway: {request_timeout_seconds: 60}\n`,
    path: 'gw.upstreams[0].fairness.max_wait_seconds',
    says: '60 s leave no time for an answer',
    fix: 'Write less than 60',
  },
]

testRefusals(REFUSED)
testWarnings(WARNED)
