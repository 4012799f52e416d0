/** Annotations about an edit in the API server's audit log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditOf } from '../../operator/admission/audit.ts'
import type { ReviewVerdict } from '../../operator/admission/review.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway, aGatewayKey } from '../helpers/kubernetes/a-gateway.ts'

const FINE: ReviewVerdict = { errors: [], warnings: [] }

function audited(object: KubeObject, before?: KubeObject, verdict = FINE) {
  const kind = String(object.kind)
  return auditOf({ uid: 'review-1', kind, isDryRun: false, object, before }, verdict)
}

const aBudget = (tenant: string, spend_per_month_usd: number) => ({ tenant, spend_per_month_usd })

test('every changed amount of a gateway is named by its tenant, group or key, with both values', () => {
  const before = aGateway({
    gw: {
      rate_limits: { default: { burst: 5 }, tenants: [{ tenant: 'a', requests_per_minute: 60 }] },
      budgets: [
        aBudget('a', 300),
        { name: 'both', tenants: ['b', 'c'], tokens_per_day: 9 },
        { key: 'batch', tokens_per_day: 7 },
      ],
    },
  })
  const after = aGateway({
    spec: {
      tenants: { from: [{ namespaces: ['*'], tenants: ['a'], ceiling: { usd_per_month: 1 } }] },
    },
    gw: {
      rate_limits: { tenants: [{ tenant: 'a', requests_per_minute: 90 }] },
      budgets: [
        aBudget('new', 1),
        aBudget('a', 400),
        { name: 'both', tenants: ['b', 'd'], tokens_per_day: 9 },
      ],
    },
  })
  assert.deepEqual(audited(after, before).changes?.split('; '), [
    'gw.rate_limits.default.burst: 5 -> none',
    'gw.rate_limits.tenants[tenant=a].requests_per_minute: 60 -> 90',
    'gw.budgets[tenant=a].spend_per_month_usd: 300 -> 400',
    'gw.budgets[name=both].tenants: b,c -> b,d',
    'gw.budgets[key=batch].tokens_per_day: 7 -> none',
    'gw.budgets[tenant=new].spend_per_month_usd: none -> 1',
    'spec.tenants.from[0].namespaces: none -> *',
    'spec.tenants.from[0].tenants: none -> a',
    'spec.tenants.from[0].ceiling.usd_per_month: none -> 1',
  ])
})

test('an edit that changes no amount records only the decision', () => {
  assert.deepEqual(audited(aGateway(), aGateway({ gw: { aliases: { a: 'chat' } } })), {
    decision: 'allowed',
  })
})

test('for a key the annotation contains the tenant and the gateway, and never the hash', () => {
  const key = aGatewayKey('one')
  assert.deepEqual(audited(key), { decision: 'allowed', gateway: 'ai/production', tenant: 'acme' })
})

test('mistakes are named by their fields, without the written values', () => {
  const error = {
    severity: 'error' as const,
    path: ['gw', 'http_proxy'],
    message: 'a password: hunter2',
    fix: 'Remove hunter2.',
  }
  const said = audited(aGateway(), undefined, { errors: [error], warnings: ['hunter2'] })
  assert.deepEqual(said, {
    decision: 'refused',
    mistakes: '1',
    fields: 'gw.http_proxy',
    warnings: '1',
  })
})

test('a credential written among the limits is not recorded', () => {
  const redis = { url: 'redis://:hunter2@redis:6379' }
  const said = audited(aGateway({ gw: { rate_limits: { backend: 'redis', redis } } }))
  assert.deepEqual(said, { decision: 'allowed' })
})

test('annotations are bounded, regardless of the number of changes and the length of names', () => {
  const budgets = Array.from({ length: 900 }, (_, index) =>
    aBudget(`${'t'.repeat(240)}-${index}`, 1),
  )
  const errors = Array.from({ length: 900 }, (_, index) => ({
    severity: 'error' as const,
    path: ['gw', 'x'.repeat(300), index],
    message: 'm',
    fix: 'f',
  }))
  const said = audited(aGateway({ gw: { budgets } }), undefined, { errors, warnings: [] })
  assert.match(said.changes ?? '', /; and 880 more$/)
  assert.match(said.fields ?? '', /; and 890 more$/)
  assert.equal(said.mistakes, '900')
  assert.ok(JSON.stringify(said).length < 6000)
})
