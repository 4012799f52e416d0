/** Verified: True only while every pod's probes of this configuration found that each verified route answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodState } from '../../operator/delivery/pusher.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { aPod, conditionOf, deployment, documentOf, says, statusOf } from './a-status.ts'

const ROUTE = { name: 'chat', strategy: 'single', upstreams: ['local'] }
const gateway = aGateway({ gw: { routes: [{ ...ROUTE, verify: true }] } })
const document = documentOf(gateway)
const { hash, documentHash, sequence, generation } = document
const enforced = { hash, documentHash, sequence, generation, newestSequence: sequence }

type State = 'answers' | 'fails' | 'pending'

function verdict(state: State, more: object = {}) {
  return { verification: { hash, routes: [{ route: 'chat', state, why: '503 no', ...more }] } }
}

function pod(name: string, report: object = {}): PodState {
  return aPod(name, undefined, { configuration: enforced, ...report })
}

function verified(pods: readonly PodState[], more: object = {}) {
  const status = statusOf({ gateway, documents: { configuration: document }, pods, ...more })
  return { says: says(status, 'Verified'), message: conditionOf(status, 'Verified').message }
}

const answers = (name: string) => pod(name, verdict('answers'))

test('without a verified route the condition is absent', () => {
  assert.equal(conditionOf(statusOf(), 'Verified').status, undefined)
})

test('every route that answers in every pod is verified', () => {
  const seen = verified([answers('a'), answers('b')])
  assert.equal(seen.says, 'True Verified')
  assert.equal(seen.message, 'Route chat answers in all 2 pods.')
})

test('one pod in which a route fails is enough, even before the others have the configuration', () => {
  const late = aPod('b', { state: 'pending' }, { configuration: { hash: 'old' } })
  const seen = verified([pod('a', verdict('fails')), late])
  assert.equal(seen.says, 'False RouteFails')
  assert.match(seen.message, /^chat does not answer in 1 of 2 pods \(a: 503 no\)/)
})

for (const [what, pods, expected] of [
  ['has not probed yet', [answers('a'), pod('b', verdict('pending'))], 'Unknown Probing'],
  ['is of a release that does not probe', [answers('a'), pod('b')], 'Unknown Probing'],
  ['has not reported', [answers('a'), { ...pod('b'), report: undefined }], 'Unknown Pending'],
  [
    'does not answer the operator',
    [answers('a'), { ...answers('b'), isSilent: true }],
    'Unknown PodUnreachable',
  ],
  [
    'probed the configuration before',
    [answers('a'), pod('b', { verification: { ...verdict('answers').verification, hash: 'old' } })],
    'Unknown Probing',
  ],
  [
    'has another configuration',
    [
      answers('a'),
      aPod('b', { state: 'pending' }, { configuration: { hash: 'old' }, ...verdict('answers') }),
    ],
    'Unknown Pending',
  ],
] as const) {
  test(`nothing is verified while a ready pod ${what}`, () => {
    assert.equal(verified(pods).says, expected)
  })
}

test('a new pod is not verified although Programmed stays True while it starts', () => {
  const before = statusOf({
    gateway,
    documents: { configuration: document },
    pods: [answers('a'), answers('b')],
  })
  const fresh = { ...pod('c'), report: undefined, configuration: { state: 'pending' as const } }
  const pods = [answers('a'), answers('b'), fresh]
  const status = statusOf({ gateway, documents: { configuration: document }, pods, before })
  assert.equal(says(status, 'Programmed'), 'True Programmed')
  assert.equal(says(status, 'Verified'), 'Unknown Probing')
})

test('nothing is verified while pods are missing', () => {
  const short = { ...deployment, status: { ...deployment.status, availableReplicas: 1 } }
  assert.equal(verified([answers('a')], { deployment: short }).says, 'Unknown PodsMissing')
})

test('the message is bounded, also if pods report long texts', () => {
  const names = Array.from({ length: 300 }, (_, index) => `route-${index}`)
  const many = aGateway({ gw: { routes: names.map((name) => ({ ...ROUTE, name, verify: true })) } })
  const wanted = documentOf(many)
  const routes = names.map((route) => ({ route, state: 'fails', why: 'x'.repeat(5000) }))
  const report = {
    configuration: { ...enforced, hash: wanted.hash },
    verification: { hash: wanted.hash, routes },
  }
  const status = statusOf({
    gateway: many,
    documents: { configuration: wanted },
    pods: [aPod('a', undefined, report)],
  })
  const { message } = conditionOf(status, 'Verified')
  assert.ok(message.length < 2000, `${message.length} characters`)
  assert.match(message, /and 295 more routes/)
})
