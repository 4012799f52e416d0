/** Whether the Gateways in front accept the route, and whether waiting helps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../../operator/compile/compile.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { conditionOf, deployment, says, statusOf } from './a-status.ts'

const parentRefs = [{ name: 'public', namespace: 'edge' }]
const gateway = aGateway({ spec: { route: { parentRefs, hostnames: ['*.test', 'models.test'] } } })

const condition = (type: string, status: string, reason: string, observedGeneration = 2) => ({
  type,
  status,
  reason,
  message: `It is ${reason}.`,
  observedGeneration,
})

function routeWith(...conditions: readonly object[]) {
  const parents = conditions.length === 0 ? [] : [{ parentRef: parentRefs[0], conditions }]
  return { metadata: { name: 'production', namespace: 'ai', generation: 2 }, status: { parents } }
}

const facts = { gateway, hasHttpRoutes: true }
const accepted = condition('Accepted', 'True', 'Accepted')

test('without a route there is no condition for it', () => {
  assert.equal(conditionOf(statusOf(), 'Exposed').status, undefined)
})

test('an accepted route exposes the gateway under its whole host name', () => {
  const resolved = condition('ResolvedRefs', 'True', 'ResolvedRefs')
  const status = statusOf({ ...facts, httpRoute: routeWith(accepted, resolved) })
  assert.equal(says(status, 'Exposed'), 'True Exposed')
  assert.equal(says(status, 'Ready'), 'True Ready')
  assert.equal(status.address, 'http://models.test')
})

test('a refusal of the controller is repeated with its reason, and the gateway is not Ready', () => {
  const refused = condition('Accepted', 'False', 'NotAllowedByListeners')
  const status = statusOf({ ...facts, httpRoute: routeWith(refused) })
  assert.equal(says(status, 'Exposed'), 'False NotAllowedByListeners')
  assert.match(conditionOf(status, 'Exposed').message, /edge\/public.*It is NotAllowedByListeners/)
  assert.equal(says(status, 'Ready'), 'False NotAllowedByListeners')
  assert.equal(status.address, 'http://production.ai.svc')
  const unresolved = condition('ResolvedRefs', 'False', 'RefNotPermitted')
  const other = statusOf({ ...facts, httpRoute: routeWith(accepted, unresolved) })
  assert.equal(says(other, 'Exposed'), 'False RefNotPermitted')
})

test("a controller's report on an older route is ignored", () => {
  const stale = condition('Accepted', 'True', 'Accepted', 1)
  for (const httpRoute of [undefined, routeWith(), routeWith(stale)]) {
    assert.equal(says(statusOf({ ...facts, httpRoute }), 'Exposed'), 'Unknown Pending')
  }
})

test('a cluster without routes, and a route of another owner, are named', () => {
  const without = statusOf({ gateway, hasHttpRoutes: false })
  assert.equal(says(without, 'Exposed'), 'False NotServed')
  const routeConflict = 'HTTPRoute production exists.'
  const taken = statusOf({ ...facts, workload: { kind: 'applied', routeConflict } })
  assert.equal(says(taken, 'Exposed'), 'False Conflict')
  assert.equal(says(taken, 'WorkloadAvailable'), 'True Available')
})

test('an https listener makes an https address', () => {
  const secure = [{ name: 'public', sectionName: 'https' }]
  const route = { parentRefs: secure, hostnames: ['models.test'] }
  const parents = [{ parentRef: secure[0], conditions: [accepted] }]
  const httpRoute = { ...routeWith(), status: { parents } }
  const status = statusOf({ ...facts, gateway: aGateway({ spec: { route } }), httpRoute })
  assert.equal(status.address, 'https://models.test')
})

test('an invalid configuration is Stalled, a roll is Reconciling, and both are absent otherwise', () => {
  const bad = aGateway({ gw: { routes: [] } })
  const stalled = statusOf({ compiled: compile({ gateway: bad, keys: [], now: 0 }) })
  assert.equal(says(stalled, 'Stalled'), 'True Invalid')
  assert.equal(conditionOf(stalled, 'Reconciling').status, undefined)
  const rolling = { ...deployment, status: { ...deployment.status, updatedReplicas: 1 } }
  const status = statusOf({ deployment: rolling })
  assert.equal(says(status, 'Reconciling'), 'True RolloutInProgress')
  assert.equal(conditionOf(status, 'Stalled').status, undefined)
  for (const type of ['Stalled', 'Reconciling']) {
    assert.equal(conditionOf(statusOf(), type).status, undefined)
  }
})
