/** Incidents that the objects of the cluster show: Secrets, edits, rolls, quotas, Redis, the operator. */
import { until } from '../../helpers/until.ts'
import { containerProcess } from '../node/containers.ts'
import { killQuietly } from '../node/daemons.ts'
import { clientPod } from '../objects.ts'
import { SPACE, SYSTEM } from '../spaces.ts'
import type { Incident } from './incident.ts'
import { NAME, type Rig, replicas, upstreams } from './rig.ts'

export const CLUSTER: readonly Incident[] = [
  {
    what: 'a deleted Secret',
    plant: ({ secret }) => secret(false),
    names:
      /upstream hosted: \$\{secret:explained-hosted\/key\} .*\(ResolvedRefs=False, SecretUnresolved\)/,
    lift: ({ secret }) => secret(true),
  },
  {
    what: 'a policy that denies a Secret',
    async plant({ secret, world, kubectl }) {
      await world.apply(...denying())
      await secret(false)
      await world.apply(deniedEvent())
      await kubectl('get', 'secrets')
    },
    names: /secret:explained-hosted\/key.*Kubernetes refuses an object \(.*lacks the label owner/,
    async lift({ kubectl, secret }) {
      await kubectl('delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', 'owned')
      // The API server enforces it a moment longer.
      const isMade = () =>
        secret(true).then(
          () => true,
          () => false,
        )
      await until('the Secret is allowed', isMade)
    },
  },
  {
    what: 'an edit that is refused',
    async plant({ configure }) {
      const routes = [{ name: 'chat', strategy: 'single', primary: 'hosteed' }]
      await configure({ gw: { routes, aliases: { 'gpt-4o': 'chat' } } })
    },
    names: /hosteed.*\(Accepted=False/,
    lift: ({ configure }) => configure(),
  },
  {
    what: 'a roll that hangs, because no node fits',
    plant: ({ configure }) => configure({ spec: { nodeSelector: { no: 'such' } } }),
    names: /1 are up to date; .*finds no node: .*\(WorkloadAvailable=False, RolloutInProgress\)/,
    lift: ({ configure }) => configure(),
  },
  {
    what: 'a quota of the namespace that stops pods',
    async plant({ world, configure }) {
      await world.apply({
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'tight', namespace: SPACE },
        spec: { hard: { pods: '1' } },
      })
      await configure({ spec: { podAnnotations: { 'example.com/rolled': 'again' } } })
    },
    names: /exceeded quota: tight/,
    async lift({ kubectl, configure }) {
      await kubectl('delete', 'resourcequota', 'tight', '--ignore-not-found')
      await configure()
    },
  },
  {
    what: 'Redis that is away',
    plant: ({ scale }) => scale('gw-redis', 0, SYSTEM),
    asks: { model: 'chat' },
    names: /Redis does not answer 2 of 2 pods/,
    lift: ({ scale }) => scale('gw-redis', 1, SYSTEM),
  },
  {
    what: 'Redis without CPU left',
    plant: busyRedis,
    asks: { model: 'chat', count: 12 },
    names: /Redis (?:answers slowly|went away|does not answer)/,
    async lift({ kubectl }) {
      await kubectl('delete', 'pod', 'busy', '--ignore-not-found', '--wait')
    },
  },
  {
    what: 'an operator that is away, and an edit meanwhile',
    async plant({ scale, configure }) {
      await scale('gw', 0, SYSTEM)
      await configure({ gw: { aliases: { 'gpt-4o': 'chat' } } })
    },
    names: /No operator has read generation \d+/,
    async lift({ scale, configure }) {
      await configure()
      await scale('gw', 1, SYSTEM)
    },
  },
  {
    what: 'an upstream without TLS at its address',
    async plant({ configure }) {
      const [hosted] = upstreams
      await configure({
        gw: { upstreams: [{ ...hosted, endpoint: 'https://faulty:9000' }, replicas] },
      })
    },
    asks: { model: 'chat' },
    names:
      /upstream hosted .*(?:TLS|SSL|cannot be reached|breaks connections off).*the configuration was edited/,
    lift: ({ configure }) => configure(),
  },
  {
    what: 'a pod that starts again and again',
    plant: async (rig) => {
      for (let kills = 0; kills < 3; kills++) await killOne(rig)
    },
    names: new RegExp(`${NAME}-\\S+ start(?:ed \\d+ times|s again and again)`),
  },
]

function denying(): object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: 'owned' }
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE'],
    resources: ['secrets'],
  }
  const validation = {
    expression: "'owner' in object.metadata.labels",
    message: 'lacks the label owner',
  }
  return [
    {
      ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [validation] },
    },
    {
      ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata },
      spec: { policyName: 'owned', validationActions: ['Deny'] },
    },
  ]
}

/** As the controller of an ExternalSecret reports that it may not write the Secret. */
function deniedEvent(): object {
  const name = 'explained-hosted'
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name}.${Date.now().toString(16)}`, namespace: SPACE },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    ...{ reportingController: 'external-secrets', reportingInstance: 'external-secrets-0' },
    ...{ action: 'Update', reason: 'UpdateFailed', type: 'Warning' },
    regarding: {
      apiVersion: 'external-secrets.io/v1',
      kind: 'ExternalSecret',
      name,
      namespace: SPACE,
    },
    note: `could not create Secret ${name}: ValidatingAdmissionPolicy 'owned' denied request: lacks the label owner`,
  }
}

async function busyRedis({ world, kubectl }: Rig): Promise<void> {
  const { image } = world
  const { data } = (await world.read('secret', 'gw-redis')) as { data: { url: string } }
  const env = { REDIS_URL: Buffer.from(data.url, 'base64').toString() }
  const command = ['node', '/client/busy-redis.ts']
  await world.apply(clientPod({ name: 'busy', image, command, env }))
  await kubectl('wait', '--for=condition=Ready', 'pod/busy', '--timeout=90s')
}

/** The process of one pod ends by itself, as after a crash. */
async function killOne({ world, kubectl }: Rig): Promise<void> {
  const select = ['-l', `inference.gw/gateway=${NAME}`, '-o', 'jsonpath={.items[0].metadata.name}']
  const pod = await kubectl('get', 'pods', ...select)
  const { status } = await world.read('pod', pod)
  const id = /"containerID":"containerd:\/\/(\w+)"/.exec(JSON.stringify(status))?.[1] ?? ''
  killQuietly(await containerProcess(id))
  const restarts = (value: unknown) => JSON.stringify(value).match(/"restartCount":(\d+)/)?.[1]
  const before = restarts(status)
  for (;;) {
    const { status: now } = await world.read('pod', pod)
    if (restarts(now) !== before && JSON.stringify(now).includes('"running"')) return
  }
}
