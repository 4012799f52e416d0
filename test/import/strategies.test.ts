/** `gw import`: the routing of LiteLLM becomes the strategy that does the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { moved } from '../../cli/moving/import.ts'

const PRICE = ', input_cost_per_token: 0.000001, output_cost_per_token: 0.000002'

function strategyOf(routing: string, more = '') {
  const entry = (region: string) =>
    `  - {model_name: chat, litellm_params: {model: openai/gpt-4o, api_base: "https://${region}.example.com/v1", api_key: os.environ/KEY${more}}}\n`
  const text = `model_list:\n${entry('a')}${entry('b')}router_settings: {routing_strategy: ${routing}}\n`
  const { yaml, fields, problems } = moved('litellm', { name: 'config.yaml', text })
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  const field = fields.find(({ path }) => path === 'router_settings.routing_strategy')
  return [parse(yaml).gw.routes[0].strategy, field?.outcome]
}

test('routing by load, latency and cost keeps its meaning', () => {
  assert.deepEqual(strategyOf('simple-shuffle'), ['round_robin', 'changed'])
  assert.deepEqual(strategyOf('least-busy'), ['least_queue', 'changed'])
  assert.deepEqual(strategyOf('latency-based-routing'), ['fastest', 'changed'])
  assert.deepEqual(strategyOf('cost-based-routing', PRICE), ['cheapest', 'changed'])
})

test('routing by cost without a price, and by used quota, has no place and takes turns', () => {
  assert.deepEqual(strategyOf('cost-based-routing'), ['round_robin', 'no_place'])
  assert.deepEqual(strategyOf('usage-based-routing-v2'), ['round_robin', 'no_place'])
})
