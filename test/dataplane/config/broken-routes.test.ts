/** The semantic strategy, and what a route applies to a request. */
import { type Row, testRefusals } from './documents.ts'

function route(fields: string): string {
  return `  routes:\n    - name: r\n${fields.replace(/^/gm, '      ')}`
}

const APPLIED: Row[] = [
  {
    name: 'cache marks where no upstream takes them',
    yaml: route('strategy: primary_with_fallback\nprimary: a\nfallback: [b]\ncache: auto # here'),
    path: 'gw.routes[0].cache',
    says: 'cannot take effect at "a", "b": vllm has no cache marks',
    fix: 'Remove it; upstreams of anthropic, bedrock use it',
  },
  {
    name: 'no cache marks where there are none',
    yaml: route('strategy: single\nprimary: a\ncache: none # here'),
    path: 'gw.routes[0].cache',
    says: 'no upstream of the route has cache: auto',
    fix: 'Remove it',
  },
  {
    name: 'semantic without its settings',
    yaml: route('strategy: semantic # here'),
    path: 'gw.routes[0].strategy',
    says: 'needs the field semantic',
    fix: 'easy and hard',
  },
  {
    name: 'semantic settings under another strategy',
    yaml: route('strategy: single\nprimary: a\nsemantic: {easy: a, hard: b} # here'),
    path: 'gw.routes[0].semantic',
    says: 'cannot take effect',
    fix: 'strategy semantic',
  },
  {
    name: 'semantic with one upstream for both sides',
    yaml: route('strategy: semantic\nsemantic: {easy: a, hard: a} # here'),
    path: 'gw.routes[0].semantic.hard',
    says: 'same upstream',
    fix: 'two upstreams',
  },
  {
    name: 'an embedding classifier without an embedding',
    yaml: route(
      'strategy: semantic\nsemantic:\n  easy: a\n  hard: b\n  classifier: embedding # here',
    ),
    path: 'gw.routes[0].semantic.classifier',
    says: 'needs embedding',
    fix: 'exemplars',
  },
  {
    name: 'an embedding classifier at an upstream without embeddings',
    yaml: `  upstreams:
    - {name: a, provider: anthropic, model: m}
    - {name: b, provider: anthropic, model: n}
  routes:
    - name: r
      strategy: semantic
      semantic:
        easy: a
        hard: b
        classifier: embedding
        embedding:
          upstream: a # here
          exemplars: {easy: [hello], hard: [prove it]}`,
    path: 'gw.routes[0].semantic.embedding.upstream',
    says: 'anthropic has no embeddings',
    fix: 'embedding model',
  },
  {
    name: 'a parallel guardrail that changes words',
    yaml: `  upstreams:
    - {name: a, provider: openai, model: m, context_window: 8192}
  routes:
    - {name: r, strategy: single, primary: a, guardrails: [g]}
  guardrails:
    - {name: g, endpoint: 'http://127.0.0.1:9000', parallel: true, redact: true} # here`,
    path: 'gw.guardrails[0].parallel',
    says: 'before its texts are changed',
    fix: 'redact: false',
  },
  {
    name: 'a parallel guardrail for answers',
    yaml: `  upstreams:
    - {name: a, provider: openai, model: m, context_window: 8192}
  routes:
    - {name: r, strategy: single, primary: a, guardrails: [g]}
  guardrails:
    - {name: g, endpoint: 'http://127.0.0.1:9000', parallel: true, stage: output} # here`,
    path: 'gw.guardrails[0].parallel',
    says: 'answers are judged after the upstream sent them',
    fix: 'stage: input',
  },
  {
    name: 'an unknown guardrail',
    yaml: route('strategy: single\nprimary: a\nguardrails: [pii] # here'),
    path: 'gw.routes[0].guardrails[0]',
    says: 'unknown guardrail "pii"',
    fix: 'none yet',
  },
  {
    name: 'two embedding models in a route',
    yaml: `  upstreams:
    - {name: a, provider: openai, model: text-embedding-3-small, context_window: 8192}
    - {name: b, provider: openai, model: text-embedding-3-large, context_window: 8192}
  routes:
    - {name: r, strategy: round_robin, upstreams: [a, b]} # here`,
    path: 'gw.routes[0]',
    says: 'vectors cannot be compared: "text-embedding-3-small", "text-embedding-3-large"',
    fix: 'a route for each',
  },
  {
    name: 'vectors of two lengths in a route',
    yaml: `  upstreams:
    - {name: a, provider: openai, model: v, context_window: 8192, embeddings: {dimensions: 256}}
    - {name: b, provider: openai, model: v, context_window: 8192, embeddings: {dimensions: 512}}
  routes:
    - {name: r, strategy: round_robin, upstreams: [a, b]} # here`,
    path: 'gw.routes[0]',
    says: 'several lengths: 256, 512',
    fix: 'a route for each',
  },
  {
    name: 'an answer larger than the window',
    yaml: route('strategy: single\nprimary: a\nmax_tokens_default: 8192 # here'),
    path: 'gw.routes[0].max_tokens_default',
    says: 'leaves no room for a prompt',
    fix: 'under 8192',
  },
]

testRefusals(APPLIED)
