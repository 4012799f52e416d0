import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../operator/kube/objects.ts'
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
