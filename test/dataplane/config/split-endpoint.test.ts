/** The path that requests get from an endpoint. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitEndpoint } from '../../../dataplane/config/upstreams/address.ts'

const SETTINGS = {
  apiVersion: undefined,
  deployment: undefined,
  region: undefined,
  project: undefined,
}

const CASES: readonly (readonly [endpoint: string, basePath: string])[] = [
  ['http://host:8000', '/v1'],
  ['http://host:8000/v1/', '/v1'],
  ['https://api.groq.com/openai/v1', '/openai/v1'],
  ['https://proxy.example/team', '/team/v1'],
  ['https://adb-1.2.azuredatabricks.net/serving-endpoints', '/serving-endpoints'],
  ['https://me.cloud.databricks.com/serving-endpoints/', '/serving-endpoints'],
  ['https://models.github.ai/inference', '/inference'],
  ['https://models.inference.ai.azure.com', ''],
  ['https://api.perplexity.ai', ''],
  ['https://notdatabricks.com/serving-endpoints', '/serving-endpoints/v1'],
]

for (const [endpoint, basePath] of CASES) {
  test(`requests to ${endpoint} go below "${basePath}"`, () => {
    assert.equal(splitEndpoint(endpoint, {}, SETTINGS).basePath, basePath)
  })
}
