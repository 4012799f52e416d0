/** Demands of reviewers of manifests, as rules over rendered objects: each returns a fault, or nothing. */
import { type PodSource, podsOf, type Rendered } from './chart.ts'

export type Rule = (objects: readonly Rendered[]) => string[]

type Fields = Readonly<Record<string, unknown>>

const of = (kind: string) => (objects: readonly Rendered[]) =>
  objects.filter((object) => object.kind === kind)
const at = ({ kind, metadata }: Rendered) => `${kind} ${metadata.name}`

function forPods(wrong: (pod: PodSource) => boolean): Rule {
  return (objects) =>
    podsOf(objects)
      .filter(wrong)
      .map(({ owner }) => at(owner))
}

function forContainers(wrong: (one: PodSource['spec']['containers'][number]) => boolean): Rule {
  return forPods(({ spec }) => spec.containers.some(wrong))
}

function forPorts(probe: string): Rule {
  return forContainers(({ [probe]: given, ports = [] }) => {
    const { httpGet, tcpSocket } = (given ?? {}) as Record<string, { port?: unknown } | undefined>
    const port = httpGet?.port ?? tcpSocket?.port
    return (
      port !== undefined &&
      !ports.some(({ name, containerPort }) => [name, containerPort].includes(port as string))
    )
  })
}

function selects(selector: unknown, pod: PodSource, namespace: string | undefined): boolean {
  const wanted = Object.entries((selector ?? {}) as Record<string, string>)
  return (
    pod.owner.metadata.namespace === namespace &&
    wanted.length > 0 &&
    wanted.every(([name, value]) => pod.labels[name] === value)
  )
}

function selectorOf({ spec }: Rendered): unknown {
  const { selector, podSelector } = spec as Record<string, Fields | undefined>
  const found = podSelector ?? selector
  return found?.matchLabels ?? found
}

/** The selector of each of these must fit some pod that is rendered with it. */
function dangling(kind: string): Rule {
  return (objects) =>
    of(kind)(objects)
      .filter(
        (one) =>
          !podsOf(objects).some((pod) => selects(selectorOf(one), pod, one.metadata.namespace)),
      )
      .map(at)
}

const isPositive = (context: Fields | undefined, field: string) =>
  Number(context?.[field] ?? 0) > 10_000

function rulesOf(objects: readonly Rendered[]) {
  return objects
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .flatMap((role) =>
      ((role.rules ?? []) as Record<string, string[]>[]).map((rule) => ({ role, rule })),
    )
}

function deploymentsOf(objects: readonly Rendered[]) {
  return of('Deployment')(objects).map((object) => ({
    object,
    spec: object.spec as Fields & { readonly replicas?: number; readonly strategy?: Fields },
    pod: podsOf([object])[0],
  }))
}

export const RULES: Readonly<Record<string, Rule>> = {
  'dangling-service': dangling('Service'),
  'dangling-networkpolicy': dangling('NetworkPolicy'),
  'dangling-poddisruptionbudget': dangling('PodDisruptionBudget'),
  'docker-sock': forPods(({ spec }) => JSON.stringify(spec.volumes ?? []).includes('docker.sock')),
  'sensitive-host-mounts': forPods(({ spec }) =>
    (spec.volumes ?? []).some((one) => 'hostPath' in one),
  ),
  'host-ipc host-network host-pid': forPods(({ spec }) =>
    ['hostIPC', 'hostNetwork', 'hostPID'].some((field) => spec[field] === true),
  ),
  'unsafe-sysctls': forPods(({ spec }) => 'sysctls' in (spec.securityContext ?? {})),
  'drop-net-raw-capability': forContainers(({ securityContext }) => {
    const { drop } = (securityContext?.capabilities ?? {}) as { drop?: string[] }
    return !drop?.includes('ALL')
  }),
  'privileged-container': forContainers(
    ({ securityContext }) => securityContext?.privileged === true,
  ),
  'privilege-escalation-container': forContainers(
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  ),
  'no-read-only-root-fs': forContainers(
    ({ securityContext }) => securityContext?.readOnlyRootFilesystem !== true,
  ),
  'run-as-non-root': forContainers(({ securityContext }) => securityContext?.runAsNonRoot !== true),
  'container-security-context-user-group-id': forContainers(
    ({ securityContext }) =>
      !isPositive(securityContext, 'runAsUser') || !isPositive(securityContext, 'runAsGroup'),
  ),
  'duplicate-env-var': forContainers(({ env = [] }) => {
    return new Set(env.map(({ name }) => name)).size !== env.length
  }),
  'env-var-secret read-secret-from-env-var': forContainers(({ env = [] }) =>
    env.some(({ valueFrom }) => valueFrom !== undefined && 'secretKeyRef' in valueFrom),
  ),
  'latest-tag': forContainers(
    ({ image }) => !/(:(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image),
  ),
  'unset-cpu-requirements': forContainers(({ resources }) => !resources?.requests?.cpu),
  'unset-memory-requirements': forContainers(
    ({ resources }) => !resources?.requests?.memory || !resources.limits?.memory,
  ),
  // Nodes without a report of it (rootless kind, podman) run no pod that requests it; a limit alone is a request too.
  'no-ephemeral-storage': forContainers(
    ({ resources }) =>
      resources?.requests?.['ephemeral-storage'] !== undefined ||
      resources?.limits?.['ephemeral-storage'] !== undefined,
  ),
  'liveness-port': forPorts('livenessProbe'),
  'readiness-port': forPorts('readinessProbe'),
  'startup-port': forPorts('startupProbe'),
  'invalid-target-ports': (objects) =>
    of('Service')(objects)
      .filter((service) => {
        const { ports } = service.spec as { ports: { targetPort: unknown }[] }
        const known = podsOf(objects)
          .filter((pod) => selects(selectorOf(service), pod, service.metadata.namespace))
          .flatMap(({ spec }) => spec.containers.flatMap((one) => one.ports ?? []))
          .flatMap(({ name, containerPort }): unknown[] => [name, containerPort])
        return ports.some(({ targetPort }) => !known.includes(targetPort))
      })
      .map(at),
  'no-liveness-probe no-readiness-probe': (objects) =>
    deploymentsOf(objects)
      .filter(({ pod }) =>
        pod?.spec.containers.some((one) => !one.livenessProbe || !one.readinessProbe),
      )
      .map(({ object }) => at(object)),
  'pod-probes-identical': (objects) =>
    deploymentsOf(objects)
      .filter(({ pod }) =>
        pod?.spec.containers.some(
          ({ livenessProbe, readinessProbe }) =>
            JSON.stringify(livenessProbe) === JSON.stringify(readinessProbe),
        ),
      )
      .map(({ object }) => at(object)),
  'no-anti-affinity': (objects) =>
    deploymentsOf(objects)
      .filter(({ spec, pod }) => (spec.replicas ?? 1) > 1 && !pod?.spec.affinity?.podAntiAffinity)
      .map(({ object }) => at(object)),
  'no-rolling-update-strategy deployment-strategy': (objects) =>
    deploymentsOf(objects)
      .filter(({ spec }) => (spec.replicas ?? 1) > 1 && spec.strategy?.type !== 'RollingUpdate')
      .map(({ object }) => at(object)),
  'mismatching-selector': (objects) =>
    deploymentsOf(objects)
      .filter(({ object, pod }) => {
        return pod === undefined || !selects(selectorOf(object), pod, object.metadata.namespace)
      })
      .map(({ object }) => at(object)),
  'pdb-max-unavailable pdb-min-available pdb-unhealthy-pod-eviction-policy': (objects) =>
    of('PodDisruptionBudget')(objects)
      .filter(({ spec }) => {
        const { maxUnavailable, minAvailable, unhealthyPodEvictionPolicy } = spec as Fields
        const isStuck = minAvailable !== undefined || Number(maxUnavailable) < 1
        return isStuck || unhealthyPodEvictionPolicy !== 'AlwaysAllow'
      })
      .map(at),
  'default-service-account': forPods(
    ({ spec }) =>
      spec.serviceAccountName === undefined && spec.automountServiceAccountToken !== false,
  ),
  'deprecated-service-account-field': forPods(({ spec }) => 'serviceAccount' in spec),
  'cluster-admin-role-binding': (objects) =>
    objects.filter(({ roleRef }) => (roleRef as Fields)?.name === 'cluster-admin').map(at),
  'wildcard-in-rules': (objects) =>
    rulesOf(objects)
      .filter(({ rule }) => Object.values(rule).flat().includes('*'))
      .map(({ role }) => at(role)),
  'access-to-create-pods': (objects) =>
    rulesOf(objects)
      .filter(({ rule }) => rule.resources?.includes('pods') && rule.verbs?.includes('create'))
      .map(({ role }) => at(role)),
  // One Secret by its name, and its creation, which cannot be bound to a name.
  'access-to-secrets': (objects) =>
    rulesOf(objects)
      .filter(({ role, rule }) => {
        if (!rule.resources?.includes('secrets')) return false
        const isBound = (rule.resourceNames ?? []).length > 0
        return role.kind === 'ClusterRole' || !(isBound || rule.verbs?.join() === 'create')
      })
      .map(({ role }) => at(role)),
  'no escalate, bind or impersonate': (objects) =>
    rulesOf(objects)
      .filter(({ rule }) => rule.verbs?.some((verb) => /escalate|bind|impersonate/.test(verb)))
      .map(({ role }) => at(role)),
  'the labels of Kubernetes': (objects) =>
    objects
      .filter(({ metadata: { labels = {} }, kind }) =>
        ['name', 'instance'].some(
          (one) => labels[`app.kubernetes.io/${one}`] === undefined && kind,
        ),
      )
      .map(at),
}

/** Omitted if the values disable their objects. */
export const ISOLATION: Readonly<Record<string, Rule>> = {
  'non-isolated-pod pod-networkpolicy': (objects) =>
    podsOf(objects)
      .filter(({ owner }) => owner.kind === 'Deployment')
      .filter((pod) => {
        const { namespace } = pod.owner.metadata
        return !of('NetworkPolicy')(objects).some((one) => selects(selectorOf(one), pod, namespace))
      })
      .map(({ owner }) => at(owner)),
  'deployment-has-poddisruptionbudget': (objects) =>
    deploymentsOf(objects)
      .filter(({ spec, pod, object }) => {
        const budgets = of('PodDisruptionBudget')(objects)
        const { namespace } = object.metadata
        const isKept = budgets.some((one) => pod && selects(selectorOf(one), pod, namespace))
        return (spec.replicas ?? 1) > 1 && !isKept
      })
      .map(({ object }) => at(object)),
  'non-existent-service-account': (objects) =>
    podsOf(objects)
      .filter(({ spec }) => {
        const name = spec.serviceAccountName
        return (
          name !== undefined &&
          !of('ServiceAccount')(objects).some((one) => one.metadata.name === name)
        )
      })
      .map(({ owner }) => at(owner)),
}
