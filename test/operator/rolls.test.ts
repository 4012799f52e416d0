import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { needsOf } from '../../operator/compile/needs.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { deploymentOf } from '../../operator/workload/deployment.ts'
import { rollsPods } from '../../operator/workload/rolls.ts'

const upstream = { name: 'u', provider: 'vllm', endpoint: 'http://u:8000', model: 'm' }

function gateway(gw: object = {}, spec: object = {}): KubeObject {
  return {
    metadata: { name: 'production', namespace: 'ai', uid: 'uid-1' },
    spec,
    gw: { upstreams: [upstream], routes: [{ name: 'r', upstreams: ['u'] }], ...gw },
  }
}

const withKey = (reference: string) => ({ upstreams: [{ ...upstream, api_key: reference }] })

const edits = [
  ['limits', gateway(), gateway({ rate_limits: { default: { burst: 3 } } }), false],
  ['the number of pods', gateway(), gateway({}, { replicas: 5 }), false],
  [
    'a Secret that the pods have',
    gateway(withKey('${secret:a/k}')),
    gateway(withKey('${secret:a/other}')),
    false,
  ],
  ['a Secret that is no longer needed', gateway(withKey('${secret:a/k}')), gateway(), false],
  ['a new Secret', gateway(), gateway(withKey('${secret:a/k}')), true],
  ['a new variable', gateway(), gateway(withKey('${env:KEY}')), true],
  ['a port', gateway(), gateway({ gateway: { listen_port: 8181 } }), true],
  ['the image', gateway(), gateway({}, { image: 'other:1' }), true],
  [
    'another store',
    gateway({ rate_limits: { backend: 'redis', redis: { url: '${env:A}' } } }),
    gateway({ rate_limits: { backend: 'redis', redis: { url: '${env:A}', key_prefix: 'b' } } }),
    true,
  ],
  [
    'the settings for an outage of the store',
    gateway({ rate_limits: { backend: 'redis', redis: { url: '${env:A}' } } }),
    gateway({ rate_limits: { backend: 'redis', redis: { url: '${env:A}', fail_open: true } } }),
    false,
  ],
  ['the number of processes', gateway(), gateway({ gateway: { workers: 2 } }), true],
  ['one process, written out', gateway(), gateway({ gateway: { workers: 1 } }), false],
  ['the drain timeout', gateway(), gateway({}, { drainTimeoutSeconds: 77 }), true],
  [
    'a request timeout from which the drain follows',
    gateway(),
    gateway({ gateway: { request_timeout_seconds: 60 } }),
    false,
  ],
] as const

for (const [what, live, next, expected] of edits) {
  test(`${what}: pods are ${expected ? '' : 'not '}made anew`, () => {
    assert.equal(rollsPods(live, next), expected)
  })
}

test('a pod reserves the default resources for each of its processes', () => {
  const payload = { apiVersion: 'v1', kind: 'k', metadata: {}, gw: { gateway: { workers: 3 } } }
  const settings = {
    gateway: gateway(),
    spec: WorkloadSpec.parse({}),
    needs: needsOf(payload as never),
    drainSeconds: 30,
    release: { image: 'gw', version: '0', operatorNamespace: 'gw' },
  }
  const resources = valueBelow(
    deploymentOf(settings).spec,
    'template',
    'spec',
    'containers',
    0,
    'resources',
  )
  assert.deepEqual(resources, {
    requests: { cpu: '1500m', memory: '768Mi' },
    limits: { memory: '3Gi' },
  })
})
