/** Warnings about upstreams and routes, which are no reason to refuse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, load, type Row, testWarnings } from './documents.ts'

const UPSTREAM = 'model: m, provider: vllm, endpoint: "http://a"'

function fallbackRoute(fields: string): string {
  return `  routes:\n    - name: r\n      strategy: primary_with_fallback\n      primary: a\n${fields}`
}

const ROWS: Row[] = [
  {
    name: 'a route that keeps the words of clients',
    yaml: `  routes:
    - name: r
      strategy: single
      primary: a
      trace:
        keep_texts: true # here`,
    path: 'gw.routes[0].trace.keep_texts',
    says: 'the texts of clients stay in memory; callers of the admin API can read them',
    fix: 'Remove keep_texts when',
  },
  {
    name: 'texts without traces to keep them with',
    yaml: `  telemetry: {trace_ring: 0}
  routes:
    - name: r
      strategy: single
      primary: a
      trace:
        keep_texts: true # here`,
    path: 'gw.routes[0].trace.keep_texts',
    says: 'keeps nothing: telemetry.trace_ring is 0',
    fix: 'Raise trace_ring',
  },
  {
    name: 'a reserve for answers that leaves passages no room',
    yaml: `  vector_stores:
    - {name: s, provider: qdrant, endpoint: "http://q", collection: c, embedding: {upstream: a, model: e}, shared: true}
  retrieval: [{name: docs}]
  context: {reserve_completion_tokens: 8192} # here
  routes:
    - {name: r, strategy: single, primary: a, retrieval: [docs]}`,
    path: 'gw.context.reserve_completion_tokens',
    says: 'leaves passages no room on "r": the largest context window is 8192',
    fix: 'less than 8192',
  },
  {
    name: 'an upstream timeout above the gateway',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}, timeout_seconds: 601} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].timeout_seconds',
    says: '601 s cannot be reached',
    fix: 'at most 600',
  },
  {
    name: 'a wait that leaves no time for an answer',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}, cold_start: {max_wait_seconds: 600}} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].cold_start.max_wait_seconds',
    says: '600 s leave no time for an answer',
    fix: 'less than 600',
  },
  {
    name: 'a route timeout above the gateway',
    yaml: '  routes:\n    - {name: r, strategy: single, primary: a, timeout_seconds: 700} # here',
    path: 'gw.routes[0].timeout_seconds',
    says: 'cannot be reached',
    fix: 'at most 600',
  },
  {
    name: 'a server that takes only texts, without a chat template',
    yaml: `  upstreams:\n    - {name: a, provider: triton, model: m, endpoint: "http://t:8000", api_version: v2} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].api_version',
    says: 'chats are refused here: with api_version v2 the server takes only texts',
    fix: 'chat_template: chatml',
  },
  {
    name: 'room for passages that no route has',
    yaml: '  context: {reserve_completion_tokens: 100} # here',
    path: 'gw.context',
    says: 'has no effect: it makes room for passages, and no route has retrieval',
    fix: 'Name a retrieval section in a route',
  },
  {
    name: 'a weight that no strategy reads',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}, weight: 5} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].weight',
    says: 'has no effect: no route with the strategy weighted has "a"',
    fix: 'use weighted',
  },
  {
    name: 'probes that overlap',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}, health_check: {interval_seconds: 2}} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].health_check.timeout_seconds',
    says: 'not below interval_seconds (2)',
    fix: 'well under',
  },
  {
    name: 'primary_with_fallback without fallback',
    yaml: '  routes:\n    - {name: r, primary: a, strategy: primary_with_fallback} # here',
    path: 'gw.routes[0].strategy',
    says: 'has no fallback',
    fix: 'single',
  },
  {
    name: 'primary_with_fallback with an empty fallback',
    yaml: '  routes:\n    - {name: r, primary: a, strategy: primary_with_fallback, fallback: []} # here',
    path: 'gw.routes[0].strategy',
    says: 'has no fallback',
    fix: 'List upstreams',
  },
  {
    name: 'a header that is empty',
    yaml: `  upstreams:
    - {name: a, provider: vllm, model: m, endpoint: "http://a:1", headers: {x-team: ""}} # here`,
    path: 'gw.upstreams[0].headers.x-team',
    says: 'is empty',
    fix: 'Did Flux substitute it?',
  },
  {
    name: 'a short keep-alive',
    yaml: '  gateway:\n    keepalive_seconds: 30 # here',
    path: 'gw.gateway.keepalive_seconds',
    says: 'under 60 s',
    fix: '75',
  },
  {
    name: 'a small burst',
    yaml: '  rate_limits:\n    default: {requests_per_minute: 1000, burst: 49} # here',
    path: 'gw.rate_limits.default.burst',
    says: 'under 5 %',
    fix: '250',
  },
  {
    name: 'a large burst over an inherited rate',
    yaml: '  rate_limits:\n    default: {requests_per_minute: 40}\n    tenants: [{tenant: t, burst: 41}] # here',
    path: 'gw.rate_limits.tenants[0].burst',
    says: 'over 100 %',
    fix: '10',
  },
  {
    name: 'many attempts',
    yaml: fallbackRoute('      fallback: [b]\n      retry: {max_attempts: 4} # here'),
    path: 'gw.routes[0].retry.max_attempts',
    says: 'more than 3 attempts',
    fix: 'Use 2',
  },
  {
    name: 'a fallback out of reach',
    yaml: fallbackRoute('      fallback: [b] # here\n      retry: {max_attempts: 1}'),
    path: 'gw.routes[0].fallback[0]',
    says: 'never reached',
    fix: 'Raise retry.max_attempts to 2',
  },
  {
    name: 'a fallback without a queue limit',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}}\n    - {name: b, ${UPSTREAM}}\n${fallbackRoute('      fallback: [b] # here')}`,
    path: 'gw.routes[0].fallback[0]',
    says: 'no max_queue_depth',
    fix: 'max_queue_depth',
  },
  {
    name: 'a saturation that cannot happen',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}}\n    - {name: b, ${UPSTREAM}}\n${fallbackRoute('      fallback: [b]\n      overflow: {on_queue_saturated: fallback} # here')}`,
    path: 'gw.routes[0].overflow.on_queue_saturated',
    says: 'never happens',
    fix: 'Give the primary',
  },
  {
    name: 'an unknown context window',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0]',
    says: 'no context window known',
    fix: 'Add context_window',
  },
  {
    name: 'a runtime by another name',
    yaml: '  upstreams:\n    - {name: a, provider: openai, model: m, context_window: 5, endpoint: "http://h:11434"} # here',
    path: 'gw.upstreams[0].endpoint',
    says: 'is the port of ollama, which loses a limit of tokens',
    fix: 'provider: ollama',
  },
  {
    name: 'weights that are no percentages',
    yaml: '  routes:\n    - name: r\n      strategy: weighted\n      upstreams: [{name: a, weight: 3}, {name: b, weight: 1}] # here',
    path: 'gw.routes[0].upstreams',
    says: 'sum to 4, not 100',
    fix: 'percentages',
  },
  {
    name: 'repetitions without a number of attempts',
    yaml: '  routes:\n    - name: r\n      strategy: single\n      primary: a\n      retry: {initial_delay_ms: 50} # here',
    path: 'gw.routes[0].retry',
    says: 'nothing is repeated',
    fix: 'max_attempts: 2',
  },
  {
    name: 'a guardrail that no route names',
    yaml: '  guardrails:\n    - {name: pii, endpoint: "http://127.0.0.1:9000"} # here',
    path: 'gw.guardrails[0].name',
    says: 'guardrail "pii" is not used by any route',
    fix: 'Name it in a route',
  },
  {
    name: 'an alias that is not served any more',
    yaml: '  aliases:\n    old: {route: r, deprecated: {since: 2026-01-01, until: 2026-11-20}} # here',
    path: 'gw.aliases.old.deprecated.until',
    says: '"old" is not served since 2026-11-20: requests get 404',
    fix: 'Remove the name',
  },
]

testWarnings(ROWS)

test('a default that the gateway shortens causes no warning', () => {
  assert.deepEqual(load(aDocument('  gateway: {request_timeout_seconds: 10}')).problems, [])
})
