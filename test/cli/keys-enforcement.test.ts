/** A revocation in a cluster is waited for until every pod knows of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keysSequenceOf, untilPodsKnow } from '../../cli/keys/enforcement.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway, aGatewayKey } from '../helpers/kubernetes/a-gateway.ts'

const key: KubeObject = {
  ...aGatewayKey('made'),
  status: { conditions: [{ type: 'Accepted', status: 'True' }] },
}

/** Each look finds the next status; the last one stays. */
function anApi(...statuses: readonly object[]) {
  const asked: string[] = []
  return {
    asked,
    async get(_resource: unknown, { namespace, name }: { namespace?: string; name?: string }) {
      asked.push(`${namespace}/${name}`)
      return { ...aGateway(), status: statuses[Math.min(asked.length, statuses.length) - 1] }
    },
  }
}

function aStatus(sequence: number, ...known: readonly number[]): object {
  const pods = known.map((keysSequence, index) => ({
    name: `p${index}`,
    ready: true,
    keysSequence,
  }))
  return { keys: { sequence }, pods }
}

test('every ready pod has to have the keys that came after', async () => {
  const api = anApi(aStatus(4, 4, 4), aStatus(5, 5, 4), aStatus(5, 5, 5))
  assert.equal(await untilPodsKnow(api, key, { before: 4 }), true)
  assert.deepEqual(api.asked, ['ai/production', 'ai/production', 'ai/production'])
})

test('a pod that does not take requests is not waited for', async () => {
  const starting = { name: 'new', ready: false, keysSequence: 0 }
  const api = anApi({ keys: { sequence: 5 }, pods: [starting] })
  assert.equal(await untilPodsKnow(api, key, { before: 4 }), true)
})

test('a pod that never answers does not hold up for ever', async () => {
  assert.equal(await untilPodsKnow(anApi(aStatus(5, 4)), key, { before: 4, waitMs: 1 }), false)
})

test('if the key has no effect, or the gateway is not readable, the command does not wait', async () => {
  const refused = { ...key, status: { conditions: [{ type: 'Accepted', status: 'False' }] } }
  assert.equal(await keysSequenceOf(anApi(aStatus(4)), refused), undefined)
  const forbidden = {
    get: () => Promise.reject(new ApiError('no', { status: 403, reason: 'Forbidden' })),
  }
  assert.equal(await keysSequenceOf(forbidden, key), undefined)
  assert.equal(await keysSequenceOf(anApi(aStatus(4)), key), 4)
})
