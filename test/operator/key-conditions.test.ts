/** The conditions of a key: whether its gateway accepts it, and whether a client can call with it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileKeys } from '../../operator/compile/compile-keys.ts'
import { keyConditions } from '../../operator/status/key-conditions.ts'
import { aGateway, aGatewayKey } from '../helpers/kubernetes/a-gateway.ts'

const NOW = '2026-06-01T00:00:00Z'

/** `Accepted`, `Ready` as `status reason`. */
function saidOf(spec: Readonly<Record<string, unknown>>, namespace = 'ai') {
  const key = aGatewayKey('k', spec, { namespace })
  const sources = { gateway: aGateway(), keys: [key], now: Date.parse(NOW), keptKeys: [] }
  const verdict = compileKeys(sources).verdicts.get(`${namespace}/k`)
  assert.ok(verdict)
  const conditions = keyConditions({ verdict, generation: 1, before: [], now: NOW })
  return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)
}

const ROWS = [
  { name: 'may call', spec: {}, says: ['Accepted True Accepted', 'Ready True Ready'] },
  {
    name: 'has no route that exists',
    spec: { routes: ['nowhere'] },
    says: ['Accepted True Accepted', 'Ready False RouteNotFound'],
  },
  {
    name: 'has one route that exists, and one that does not',
    spec: { routes: ['chat', 'nowhere'] },
    says: ['Accepted True Accepted', 'Ready True Ready'],
  },
  {
    name: 'sets a tag that the gateway does not declare',
    spec: { tags: { team: 'blue' } },
    says: ['Accepted True Accepted', 'Ready True Ready'],
  },
  {
    name: 'is revoked',
    spec: { revoked: { at: NOW } },
    says: ['Accepted True Accepted', 'Ready False Revoked'],
  },
  {
    name: 'has expired',
    spec: { expiresAt: '2026-05-01T00:00:00Z' },
    says: ['Accepted True Accepted', 'Ready False Expired'],
  },
  {
    name: 'is rotated',
    spec: { rotatedTo: 'other' },
    says: ['Accepted True Accepted', 'Ready False Rotated'],
  },
  {
    name: 'comes from a namespace that the gateway does not admit',
    spec: { gateway: 'ai/production' },
    namespace: 'team',
    says: ['Accepted False NotPermitted', 'Ready False NotPermitted'],
  },
]

for (const { name, spec, says, namespace } of ROWS) {
  test(`a key that ${name} reports it`, () => assert.deepEqual(saidOf(spec, namespace), says))
}
