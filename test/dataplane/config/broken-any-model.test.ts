/** Upstreams that get the model that the client names: settings that cannot take effect, and names that fit no model. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain } from '../../../dataplane/config/shown/explain.ts'
import { aDocument, hashOf, load, type Row, testRefusals } from './documents.ts'

const ANY = `  upstreams:
    - {name: a, provider: openai, endpoint: "https://a.example", model: "*"}
    - {name: b, provider: openai, endpoint: "https://b.example", model: m, context_window: 10}
  routes:
    - {name: r, strategy: single, primary: a}
    - {name: s, strategy: single, primary: b}
`

const withUpstream = (fields: string) => `  upstreams:
    - {name: a, provider: openai, endpoint: "https://a.example", ${fields}} # here
  routes:
    - {name: r, strategy: single, primary: a}
`

const ROWS: Row[] = [
  {
    name: 'a list of models where the model is fixed',
    yaml: withUpstream('model: m, list_models: true'),
    path: 'gw.upstreams[0].list_models',
    says: 'cannot take effect: the model is always "m"',
    fix: 'model: "*"',
  },
  {
    name: 'a list that no client sees',
    yaml: withUpstream('model: "*", list_models: true'),
    path: 'gw.upstreams[0].list_models',
    says: 'no alias that ends with * leads to this upstream',
    fix: '{"a/*": ROUTE}',
  },
  {
    name: 'a pattern with a blank',
    yaml: withUpstream('model: ["gpt 4"]'),
    path: 'gw.upstreams[0].model[0]',
    says: 'must hold only letters, digits',
    fix: '',
  },
  {
    name: 'a setting of one model',
    yaml: withUpstream('model: "*", embeddings: {dimensions: 3}'),
    path: 'gw.upstreams[0].embeddings.dimensions',
    says: 'it is for one model, and clients name many',
    fix: 'make an upstream with that model',
  },
  {
    name: 'a key with a pattern that fits no model',
    yaml: `${ANY}  aliases: {"x/*": r, "y/*": s}
  api_keys:
    - {id: k, tenant: t, hash: "${hashOf('k')}", routes: ["y/*"]} # here
`,
    path: 'gw.api_keys[0].routes[0]',
    says: 'no model that a client may name fits "y/*"',
    fix: 'the beginning of an alias',
  },
  {
    name: 'a downgrade to a route without a fixed model',
    yaml: `${ANY}  pricing: [{model: m, input: 1, output: 1}]
  budgets:
    - {tenant: t, tokens_per_day: 9, on_exceeded: downgrade, downgrade_route: r} # here
`,
    path: 'gw.budgets[0].downgrade_route',
    says: 'gets the model that the client names',
    fix: 'one model each',
  },
]

testRefusals(ROWS)

test('a key may have names and patterns of models, and a pattern is a price', () => {
  const { problems } = load(
    aDocument(`${ANY}  aliases: {"x/*": r}
  pricing: [{model: "m*", input: 1, output: 1}]
  budgets: [{tenant: t, spend_per_month_usd: 1}]
  state_dir: /tmp
  api_keys:
    - {id: k, tenant: t, hash: "${hashOf('k')}", routes: ["x/*", "x/gpt-4o", s]}
`),
  )
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
})

test('an explanation says that the client names the model', () => {
  const { configuration } = load(aDocument(withUpstream('model: [gpt-*, o3]')))
  assert.ok(configuration)
  assert.match(explain(configuration), /openai with the model that the client names: gpt-\* o3/)
})
