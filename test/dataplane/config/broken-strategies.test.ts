/** Strategies without required fields, or with fields that they would ignore. */
import { type Row, testRefusals } from './documents.ts'

function route(fields: string): string {
  return `  routes:\n    - name: r\n${fields.replace(/^/gm, '      ')}`
}

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
]

testRefusals(STRATEGIES)
