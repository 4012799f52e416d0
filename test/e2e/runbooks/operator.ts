/** Incidents of the operator: its lease, its rights, its way to the API server and to the pods. */
import type { Kubectl } from '../../helpers/kubernetes/kubectl.ts'
import { until } from '../../helpers/until.ts'
import { NAME, type Rig } from '../incidents/rig.ts'
import { inNetwork } from '../node/layout.ts'
import { enforcePolicies, liftPolicies } from '../node/policies.ts'
import { run } from '../node/system.ts'
import { clientPod, gatewayKey } from '../objects.ts'
import { SPACE, SYSTEM } from '../spaces.ts'
import { rolledOut, SECONDS_MAX } from '../world.ts'
import type { Planted } from './planted.ts'

const OPERATOR = 'app.kubernetes.io/component=operator'
/** A reconcile fails a few times in the first half minute, and the alert wants 30 failures in 10 minutes. */
const KEYS = 12

export const OPERATOR_INCIDENTS: readonly Planted[] = [
  {
    alert: 'GwOperatorWithoutLeader',
    what: 'no right to write the lease',
    plant: (rig) => withoutRule(rig, ['role', 'gw-own', '-n', SYSTEM], 'leases'),
    prints: [/pod\/gw-\S+/, /renewTime/, /is forbidden/],
    cause: /cannot get resource \\?"leases\\?"[^,}]*/,
    async lift(rig) {
      await withRules(rig, ['role', 'gw-own', '-n', SYSTEM])
      await leads(rig)
    },
  },
  {
    alert: 'GwOperatorWithoutLeader',
    what: 'an operator that was scaled to 0',
    plant: ({ scale }) => scale('gw', 0, SYSTEM),
    prints: [/deployment\.apps\/gw +0\/0/, /holderIdentity: ""/, /No resources found/],
    cause: /deployment\.apps\/gw +0\/0|holderIdentity: ""/,
    async lift(rig) {
      await rig.scale('gw', 2, SYSTEM)
      await leads(rig)
    },
  },
  {
    alert: 'GwPodsUnreachable',
    what: 'a NetworkPolicy without the push port',
    async plant(rig) {
      const { kubectl } = rig.world
      const policy = await rig.world.read('networkpolicy', 'gw', SYSTEM)
      const { egress } = policy.spec as { egress: { ports: { port: number }[] }[] } // As the chart writes it.
      const index = egress.findIndex(({ ports }) => ports.some(({ port }) => port === 9092))
      const path = `/spec/egress/${index}`
      await patch(rig, ['networkpolicy', 'gw', '-n', SYSTEM], [{ op: 'remove', path }])
      kept.set('networkpolicy gw', [{ op: 'add', path, value: egress[index] }])
      if (rig.world.isOurNode) await enforceAtOnce(kubectl)
      await rig.configure({ gw: { aliases: { 'gpt-4o': 'chat' } } })
    },
    prints: [
      /Programmed +False +PodUnreachable/,
      new RegExp(`${NAME}-\\S+ +1/1 +Running`),
      /^(?![\s\S]*9092\/TCP)[\s\S]*Allowing egress traffic/,
    ],
    cause:
      /cannot be reached with generation \d+\. \S+: [\w ]+[\d.:]*|^(?![\s\S]*9092\/TCP)Name: [\s\S]*/,
    async lift(rig) {
      await patch(rig, ['networkpolicy', 'gw', '-n', SYSTEM], kept.get('networkpolicy gw') ?? [])
      if (rig.world.isOurNode) await liftPolicies()
      await rig.configure()
    },
  },
  {
    alert: 'GwReconcileFailing',
    what: 'a right of the operator that was taken away',
    async plant(rig) {
      await withoutRule(rig, ['clusterrole', 'gw-system-gw'], 'gatewaykeys/status')
      const keys = Array.from({ length: KEYS }, () => gatewayKey(NAME, 'waiting').object)
      await rig.world.apply(...keys)
    },
    prints: [
      /key ai\/explained-waiting-\d+: /,
      /^(?![\s\S]*gatewaykeys\.inference\.gw\/status)[\s\S]*gatewaykeys\.inference\.gw /,
      /gatewaykey\S*\/explained-waiting-\d+ /,
    ],
    cause:
      /cannot patch resource \\?"gatewaykeys\/status\\?"|^(?![\s\S]*gatewaykeys\.inference\.gw\/status)Resources [\s\S]*/,
    async lift(rig) {
      await withRules(rig, ['clusterrole', 'gw-system-gw'])
      await removeKeys(rig, 'waiting')
    },
  },
  {
    alert: 'GwWatchMissedEvents',
    what: 'a proxy that swallows the events of watches',
    async plant(rig) {
      await throughProxy(rig)
      await rig.world.apply(gatewayKey(NAME, 'missed').object)
    },
    prints: [
      /The watch of gatewaykeys ended: /,
      /--kubeconfig=\/proxy\/kubeconfig/,
      /gw_watch_missed_events_total\{resource="gatewaykeys"\} [1-9]/,
    ],
    cause:
      /A list of gatewaykeys showed (?:a change|\d+ changes) that the watch had not sent|--kubeconfig=\/proxy\S*|gw_watch_missed_events_total\{resource="gatewaykeys"\} [1-9]/,
    async lift(rig) {
      const { kubectl } = rig.world
      await kubectl(['-n', SYSTEM, 'rollout', 'undo', 'deployment/gw'])
      await rolledOut(rig.world, 'deployment', 'gw', SYSTEM)
      await kubectl(['-n', SYSTEM, 'delete', 'secret', 'proxy', '--ignore-not-found'])
      await rig.kubectl('delete', 'pod,service', 'watch-proxy', '--ignore-not-found')
      await leads(rig)
      await removeKeys(rig, 'missed')
    },
  },
]

/** Other clusters enforce policies by themselves. */
async function enforceAtOnce(kubectl: Kubectl): Promise<void> {
  await enforcePolicies(kubectl)
  // A policy does not end connections, so the kernel must forget them; without any, this fails.
  await run(...inNetwork('conntrack', ['-D', '-p', 'tcp', '--dport', '9092'])).catch(() => '')
}

type Patch = readonly { readonly op: string; readonly path: string; readonly value?: unknown }[]

/** Patches that put back the removed parts of objects. */
const kept = new Map<string, Patch>()

async function patch({ world }: Rig, object: readonly string[], operations: Patch): Promise<void> {
  const json = ['--type=json', '--patch', JSON.stringify(operations)]
  await world.kubectl(['patch', ...object, ...json])
}

/** Takes the rules for a resource out of a role. */
async function withoutRule(rig: Rig, role: readonly string[], resource: string): Promise<void> {
  const path = '/rules'
  const { rules } = JSON.parse(await rig.world.kubectl(['get', ...role, '-o', 'json']))
  const left = rules.filter((one: { resources: string[] }) => !one.resources.includes(resource))
  kept.set(role.join(' '), [{ op: 'replace', path, value: rules }])
  await patch(rig, role, [{ op: 'replace', path, value: left }])
}

async function withRules(rig: Rig, role: readonly string[]): Promise<void> {
  await patch(rig, role, kept.get(role.join(' ')) ?? [])
}

async function removeKeys({ kubectl }: Rig, tenant: string): Promise<void> {
  const names = (await kubectl('get', 'gatewaykeys', '-o', 'name')).split('\n')
  const theirs = names.filter((name) => name.includes(`-${tenant}-`))
  if (theirs.length > 0) await kubectl('delete', ...theirs)
}

/** New pods, because those that failed wait before they start again; one of them leads. */
async function leads({ world }: Rig): Promise<void> {
  const { kubectl } = world
  await kubectl(['-n', SYSTEM, 'delete', 'pods', '-l', OPERATOR, '--wait=false'])
  const since = Date.now()
  await rolledOut(world, 'deployment', 'gw', SYSTEM)
  const isLed = async () => {
    const { spec } = await world.read('lease', 'gw-operator', SYSTEM)
    const { renewTime = '', holderIdentity = '' } = spec as Record<string, string>
    return holderIdentity !== '' && Date.parse(renewTime) > since
  }
  await until('an operator leads', isLed, SECONDS_MAX)
}

/** Both operators reach the API server through a pod from now on. */
async function throughProxy(rig: Rig): Promise<void> {
  const { image, apply, kubectl } = rig.world
  // The library for kubeconfigs refuses HTTP beside a file of a token.
  const token = await kubectl(['-n', SYSTEM, 'create', 'token', 'gw', '--duration=1h'])
  await apply(...proxyObjects(image, token.trim()))
  await rig.kubectl('wait', '--for=condition=Ready', 'pod/watch-proxy', '--timeout=90s')
  const container = '/spec/template/spec/containers/0'
  const volume = { name: 'proxy', secret: { secretName: 'proxy' } }
  await patch(
    rig,
    ['deployment', 'gw', '-n', SYSTEM],
    [
      { op: 'add', path: '/spec/template/spec/volumes/-', value: volume },
      {
        op: 'add',
        path: `${container}/volumeMounts/-`,
        value: { name: 'proxy', mountPath: '/proxy' },
      },
      { op: 'add', path: `${container}/args/-`, value: '--kubeconfig=/proxy/kubeconfig' },
    ],
  )
  await kubectl(['-n', SYSTEM, 'rollout', 'status', 'deployment/gw', `--timeout=${SECONDS_MAX}s`])
}

function proxyObjects(image: string, token: string): object[] {
  const server = `http://watch-proxy.${SPACE}.svc:6443`
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'proxy', cluster: { server } }],
    users: [{ name: 'account', user: { token } }],
    contexts: [
      { name: 'proxy', context: { cluster: 'proxy', user: 'account', namespace: SYSTEM } },
    ],
    'current-context': 'proxy',
  }
  const pod = clientPod({ name: 'watch-proxy', image, command: ['node', '/client/watch-proxy.ts'] })
  const { spec } = pod as { spec: { volumes: object[]; containers: [{ volumeMounts: object[] }] } } // As objects.ts writes it.
  spec.volumes.push({ name: 'authority', configMap: { name: 'kube-root-ca.crt' } })
  spec.containers[0].volumeMounts.push({ name: 'authority', mountPath: '/authority' })
  const labels = { app: 'watch-proxy' }
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'proxy', namespace: SYSTEM },
      stringData: { kubeconfig: JSON.stringify(config) },
    },
    pod,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'watch-proxy', namespace: SPACE },
      spec: { selector: labels, ports: [{ port: 6443 }] },
    },
  ]
}
