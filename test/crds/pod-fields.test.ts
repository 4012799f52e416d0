/** Fields of pods that the API server accepts in a gateway, but would refuse in its objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { compile, showFinding } from '../../operator/compile/compile.ts'
import { deploymentOf } from '../../operator/workload/deployment.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const configMap = { name: 'ca' }
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }
const nodes = (term: object) => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
  },
})
const required = (entry: object) => nodes({ matchExpressions: [{ key: 'a', ...entry }] })
const pods = (term: object) => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a', ...term }],
    },
  },
})
const clients = (peer: object) => ({ networkPolicy: { clients: [peer] } })

function errorsOf(spec: object): string[] {
  const { problems } = compile({ gateway: aGateway({ spec: { ...spec } }), keys: [], now: 0 })
  return problems.filter(({ severity }) => severity === 'error').map(showFinding)
}

const mistakes: readonly (readonly [spec: object, says: RegExp])[] = [
  [
    { tolerations: [{ key: 'a', operator: 'Exists', value: 'x' }] },
    /tolerations\[0\].*remove value/,
  ],
  [{ tolerations: [{ value: 'x' }] }, /tolerations\[0\].*needs key/],
  [{ tolerations: [{ key: 'a', tolerationSeconds: 3 }] }, /needs effect: NoExecute/],
  [required({ operator: 'In' }), /In and NotIn need values/],
  [required({ operator: 'Exists', values: ['x'] }), /Exists and DoesNotExist take no values/],
  [required({ operator: 'Gt', values: ['x'] }), /Gt and Lt one whole number/],
  [nodes({ matchFields: [{ key: 'a', operator: 'In', values: ['x'] }] }), /metadata\.name/],
  [pods({ matchLabelKeys: ['a'] }), /need labelSelector/],
  [pods({ labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }), /need values/],
  [{ topologySpreadConstraints: [{ ...spread, minDomains: 2 }] }, /minDomains needs/],
  [{ topologySpreadConstraints: [{ ...spread, matchLabelKeys: ['a'] }] }, /need labelSelector/],
  [{ topologySpreadConstraints: [spread, spread] }, /two entries with one topologyKey/],
  [
    { volumes: ['a', 'b'].map((name) => ({ name, mountPath: '/mnt/a', configMap })) },
    /two entries with one mountPath/,
  ],
  [{ volumes: [{ name: 'a', mountPath: '/mnt/a', csi: { driver: 'Bad_Driver' } }] }, /lower-case/],
  [{ priorityClassName: 'Very High' }, /priorityClassName.*lower-case/],
  [clients({ ipBlock: { cidr: '10.0.0.0/64' } }), /not a block of addresses/],
  [clients({ ipBlock: { cidr: '300.0.0.0/8' } }), /not a block of addresses/],
  [clients({ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }), /blocks within cidr/],
  [
    { networkPolicy: { egress: [{ ports: [{ port: 90, endPort: 80 }] }] } },
    /endPort is below port/,
  ],
]

test('each is refused with its field and the fix, before a pod is created', () => {
  for (const [spec, says] of mistakes) {
    const [found, ...others] = errorsOf(spec)
    assert.match(found ?? JSON.stringify(spec), says)
    assert.match(found ?? '', /^spec\./)
    assert.deepEqual(others, [])
  }
})

test('the same fields are accepted with valid values', () => {
  const right = [
    {
      tolerations: [
        { operator: 'Exists' },
        { key: 'a', value: 'x', effect: 'NoExecute', tolerationSeconds: 3 },
      ],
    },
    required({ operator: 'Gt', values: ['-3'] }),
    nodes({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['x'] }] }),
    pods({ labelSelector: { matchLabels: { a: 'b' } }, matchLabelKeys: ['pod-template-hash'] }),
    { topologySpreadConstraints: [spread, { ...spread, topologyKey: 'host' }] },
    clients({ ipBlock: { cidr: 'fd00::/8', except: ['fd01::/16'] } }),
    { networkPolicy: { egress: [{ ports: [{ port: 80, endPort: 90 }] }] } },
  ]
  for (const spec of right) assert.deepEqual(errorsOf(spec), [])
})

test('a variable that the operator sets is refused, with the setting to use', () => {
  const gateway = aGateway()
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const release = { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' }
  const spec = WorkloadSpec.parse({})
  const made = deploymentOf({ gateway, spec, needs: configuration.needs, drainSeconds: 1, release })
  const set = listBelow(made, 'spec', 'template', 'spec', 'containers', 0, 'env')
  const env = set.map((one) => ({ name: String(valueBelow(one, 'name')), value: '1' }))
  assert.ok(env.length >= 10)
  const found = errorsOf({ env })
  assert.equal(found.length, env.length)
  assert.ok(
    found.some((one) => /GW_DRAIN_TIMEOUT_SECONDS .*Write spec\.drainTimeoutSeconds/.test(one)),
  )
  assert.deepEqual(errorsOf({ env: [{ name: 'GW_ADMIN_PORT', value: '9191' }] }), [])
})
