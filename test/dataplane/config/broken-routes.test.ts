/** Routes, strategies, weights and names that contradict each other. */
import { type Row, testRefusals } from './documents.ts'

function route(fields: string): string {
  return `  routes:\n    - name: r\n${fields.replace(/^/gm, '      ')}`
}

const NAMES: Row[] = [
  {
    name: 'an upstream name twice',
    yaml: '  upstreams:\n    - {name: a, provider: openai, model: m}\n    - {name: a, provider: openai, model: m} # here',
    path: 'gw.upstreams[1].name',
    says: 'duplicate upstream name "a"; first at gw.upstreams[0].name',
    fix: 'another name',
  },
  {
    name: 'a route name twice',
    yaml: '  routes:\n    - {name: r, strategy: single, primary: a}\n    - {name: r, strategy: single, primary: b} # here',
    path: 'gw.routes[1].name',
    says: 'duplicate route name',
    fix: 'another name',
  },
  {
    name: 'an unknown upstream in a route',
    yaml: route('strategy: round_robin\nupstreams:\n  - a\n  - bb # here'),
    path: 'gw.routes[0].upstreams[1]',
    says: 'unknown upstream "bb"; did you mean "b"?',
    fix: '"a", "b"',
  },
  {
    name: 'an unknown primary',
    yaml: route('strategy: single\nprimary: zzz # here'),
    path: 'gw.routes[0].primary',
    says: 'unknown upstream "zzz"',
    fix: 'Use one of',
  },
  {
    name: 'an unknown fallback',
    yaml: route('strategy: primary_with_fallback\nprimary: a\nfallback: [b, c3] # here'),
    path: 'gw.routes[0].fallback[1]',
    says: 'unknown upstream "c3"',
    fix: 'Use one of',
  },
  {
    name: 'the same upstream listed twice',
    yaml: route('strategy: round_robin\nupstreams: [a, b, a] # here'),
    path: 'gw.routes[0].upstreams[2]',
    says: 'duplicate upstream of the route "a"',
    fix: 'Remove one',
  },
  {
    name: 'an alias to an unknown route',
    yaml: '  aliases:\n    gpt-4o: rr # here',
    path: 'gw.aliases.gpt-4o',
    says: 'unknown route "rr"; did you mean "r"?',
    fix: '"r"',
  },
  {
    name: 'an alias to an alias',
    yaml: '  aliases:\n    x: y # here\n    y: r',
    path: 'gw.aliases.x',
    says: 'cannot lead to another alias',
    fix: '"r"',
  },
  {
    name: 'an alias with the name of a route',
    yaml: '  aliases:\n    r: r # here',
    path: 'gw.aliases.r',
    says: 'hides the route',
    fix: 'rename',
  },
]

const STRATEGIES: Row[] = [
  {
    name: 'single with two upstreams',
    yaml: route('strategy: single\nupstreams: [a, b] # here'),
    path: 'gw.routes[0].upstreams',
    says: 'exactly one upstream, and has 2',
    fix: 'primary',
  },
  {
    name: 'single with nothing',
    yaml: route('strategy: single # here'),
    path: 'gw.routes[0].strategy',
    says: 'has 0',
    fix: 'primary',
  },
  {
    name: 'single with an upstream it never uses',
    yaml: route('strategy: single\nprimary: a\nupstreams: [a, b] # here'),
    path: 'gw.routes[0].upstreams[1]',
    says: 'single never uses "b"',
    fix: 'round_robin',
  },
  {
    name: 'round_robin without upstreams',
    yaml: route('strategy: round_robin # here'),
    path: 'gw.routes[0].strategy',
    says: 'needs upstreams',
    fix: 'List names',
  },
  {
    name: 'a primary that round_robin ignores',
    yaml: route('strategy: round_robin\nprimary: a # here\nupstreams: [a, b]'),
    path: 'gw.routes[0].primary',
    says: 'cannot take effect',
    fix: 'primary_with_fallback',
  },
  {
    name: 'a fallback that single ignores',
    yaml: route('strategy: single\nprimary: a\nfallback: [b] # here'),
    path: 'gw.routes[0].fallback',
    says: 'cannot take effect',
    fix: 'primary_with_fallback',
  },
  {
    name: 'an overflow that weighted ignores',
    yaml: route(
      'strategy: weighted\nupstreams: [{name: a, weight: 1}]\noverflow: # here\n  on_timeout: fallback',
    ),
    path: 'gw.routes[0].overflow',
    says: 'cannot take effect',
    fix: 'Remove it',
  },
  {
    name: 'primary_with_fallback without primary',
    yaml: route('strategy: primary_with_fallback # here\nfallback: [b]'),
    path: 'gw.routes[0].strategy',
    says: 'needs primary',
    fix: 'Name an upstream',
  },
  {
    name: 'primary_with_fallback without fallback',
    yaml: route('strategy: primary_with_fallback # here\nprimary: a'),
    path: 'gw.routes[0].strategy',
    says: 'needs fallback',
    fix: 'single',
  },
  {
    name: 'a primary that is its own fallback',
    yaml: route('strategy: primary_with_fallback\nprimary: a\nfallback: [a] # here'),
    path: 'gw.routes[0].fallback[0]',
    says: 'is the primary',
    fix: 'retry.max_attempts',
  },
  {
    name: 'weighted without weights',
    yaml: route('strategy: weighted # here\nupstreams: [a, b]'),
    path: 'gw.routes[0].strategy',
    says: 'needs weights',
    fix: '{name, weight}',
  },
  {
    name: 'weighted with one weight of two',
    yaml: route('strategy: weighted\nupstreams:\n  - {name: a, weight: 1}\n  - b # here'),
    path: 'gw.routes[0].upstreams[1]',
    says: 'has no weight',
    fix: 'or 0',
  },
  {
    name: 'weights that are all zero',
    yaml: route('strategy: weighted # here\nupstreams: [{name: a, weight: 0}]'),
    path: 'gw.routes[0].strategy',
    says: 'all weights are 0',
    fix: 'Raise',
  },
  {
    name: 'a weight that round_robin ignores',
    yaml: route('strategy: round_robin\nupstreams: [{name: a, weight: 3}] # here'),
    path: 'gw.routes[0].upstreams[0].weight',
    says: 'cannot take effect',
    fix: 'weighted',
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
    name: 'a strategy that does not work yet',
    yaml: route('strategy: least_queue # here\nupstreams: [a, b]'),
    path: 'gw.routes[0].strategy',
    says: 'not supported yet',
    fix: 'Use one of',
  },
  {
    name: 'an unknown guardrail',
    yaml: route('strategy: single\nprimary: a\nguardrails: [pii] # here'),
    path: 'gw.routes[0].guardrails[0]',
    says: 'unknown guardrail "pii"',
    fix: 'none yet',
  },
  {
    name: 'an answer larger than the window',
    yaml: route('strategy: single\nprimary: a\nmax_tokens_default: 8192 # here'),
    path: 'gw.routes[0].max_tokens_default',
    says: 'leaves no room for a prompt',
    fix: 'under 8192',
  },
]

testRefusals(NAMES)
testRefusals(STRATEGIES)
