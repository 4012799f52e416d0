/** One source: what the API server refuses is also refused without one, and so are mistakes that it cannot find. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { WorkloadSpec } from '../../crds/workload.ts'
import { loadConfiguration } from '../../dataplane/config/load.ts'
import {
  aGatewayConfig,
  LEFT_TO_THE_OPERATOR,
  REFUSED_AT_APPLY,
  withMistake,
} from '../helpers/kubernetes/broken-resources.ts'

const NO_FILES = {
  env: {},
  readText: (path: string): string => {
    throw new Error(`there is no ${path}`)
  },
}

function problemsOf(document: Readonly<Record<string, unknown>>): string[] {
  const { problems } = loadConfiguration(stringify(document), 'a.yaml', NO_FILES, 'validate')
  const faults = problems.filter(({ severity }) => severity === 'error')
  const spec = WorkloadSpec.safeParse(document.spec ?? {})
  return [
    ...faults.map(({ path, message }) => `${path}: ${message}`),
    ...(spec.error?.issues ?? []).map(({ path, message }) => `spec.${path.join('.')}: ${message}`),
  ]
}

test('the resource without a mistake has no problem', () => {
  assert.deepEqual(problemsOf(aGatewayConfig('good')), [])
})

for (const mistake of [...REFUSED_AT_APPLY, ...LEFT_TO_THE_OPERATOR]) {
  test(`refused without an API server: ${mistake.name}`, () => {
    assert.notDeepEqual(problemsOf(withMistake('good', mistake)), [])
  })
}
