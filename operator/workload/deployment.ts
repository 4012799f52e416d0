/** The Deployment of a gateway. Its only configuration is what a running pod cannot change. */
import { hashOf, PUSH_PORT } from '../../dataplane/delivery/signed.ts'
import type { Needs } from '../compile/needs.ts'
import { GATEWAY_LABEL, labelsOf, metadataOf, names } from '../kube/names.ts'
import type { KubeObject } from '../kube/objects.ts'
import { clientPortName } from './network.ts'
import { PROGRESS_DEADLINE_MINUTES } from './rolling.ts'
import { DRAIN_DELAY_SECONDS, DRAIN_MARGIN_SECONDS, type WorkloadSettings } from './settings.ts'

const FOLDERS = {
  bundle: '/etc/gw/bundle',
  trust: '/etc/gw/trust',
  secrets: '/var/run/secrets/gw',
} as const
const USER = 65_532

/** The settings of the existing pods, kept while they suffice, so that pods do not roll for less. */
export const MADE_WITH = {
  secrets: 'inference.gw/secrets',
  variables: 'inference.gw/variables',
  drain: 'inference.gw/drain-seconds',
} as const

/** A pod opens its store once, so another store needs new pods. */
const STORE_ANNOTATION = 'inference.gw/store'

export function deploymentOf(settings: WorkloadSettings): KubeObject {
  const { gateway, spec } = settings
  // An autoscaler owns the number of replicas; a number from here would undo its work.
  const replicas = spec.autoscaling === undefined ? { replicas: spec.replicas } : {}
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(gateway, gateway.metadata.name),
    spec: {
      ...replicas,
      selector: { matchLabels: { [GATEWAY_LABEL]: gateway.metadata.name } },
      revisionHistoryLimit: 3,
      minReadySeconds: 2,
      progressDeadlineSeconds: PROGRESS_DEADLINE_MINUTES * 60,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: templateOf(settings),
    },
  }
}

export function templateHash(deployment: KubeObject): string {
  return hashOf((deployment.spec as { template: unknown }).template)
}

function templateOf(settings: WorkloadSettings) {
  const { gateway, spec, needs, drainSeconds } = settings
  return {
    metadata: {
      labels: { ...spec.podLabels, ...labelsOf(gateway.metadata.name) },
      annotations: {
        ...spec.podAnnotations,
        [MADE_WITH.secrets]: needs.secrets.join(','),
        [MADE_WITH.variables]: needs.variables.join(','),
        [MADE_WITH.drain]: String(drainSeconds),
        [STORE_ANNOTATION]: needs.store,
      },
    },
    spec: {
      serviceAccountName: gateway.metadata.name,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: DRAIN_DELAY_SECONDS + drainSeconds + DRAIN_MARGIN_SECONDS,
      securityContext: {
        runAsNonRoot: true,
        ...(settings.platform?.assignsUsers === true
          ? {}
          : { runAsUser: USER, runAsGroup: USER, fsGroup: USER }),
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...placement(settings),
      containers: [containerOf(settings)],
      volumes: volumesOf(settings),
    },
  }
}

const OVER = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']

function placement({ spec, gateway }: WorkloadSettings) {
  const over = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { [GATEWAY_LABEL]: gateway.metadata.name } },
    // Pods that a roll replaces do not count, so that the new ones are spread at its end.
    matchLabelKeys: ['pod-template-hash'],
  })
  const constraints = spec.topologySpreadConstraints
  return {
    ...(spec.imagePullSecrets.length === 0 ? {} : { imagePullSecrets: spec.imagePullSecrets }),
    ...(spec.priorityClassName && { priorityClassName: spec.priorityClassName }),
    nodeSelector: { 'kubernetes.io/os': 'linux', ...spec.nodeSelector },
    ...(spec.tolerations.length === 0 ? {} : { tolerations: spec.tolerations }),
    ...(spec.affinity === undefined ? {} : { affinity: spec.affinity }),
    topologySpreadConstraints: constraints.length === 0 ? OVER.map(over) : constraints,
  }
}

function containerOf(settings: WorkloadSettings) {
  const { spec, needs, release } = settings
  return {
    name: 'gateway',
    image: spec.image ?? release.image,
    imagePullPolicy: 'IfNotPresent',
    // The pod's status then has the reason of its end, which our status repeats.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    env: environmentOf(settings),
    ...(spec.envFrom.length === 0 ? {} : { envFrom: spec.envFrom }),
    ports: [
      {
        name: clientPortName(needs.listener),
        containerPort: needs.ports.listen,
        protocol: 'TCP',
      },
      { name: 'metrics', containerPort: needs.ports.metrics, protocol: 'TCP' },
      { name: 'push', containerPort: PUSH_PORT, protocol: 'TCP' },
    ],
    startupProbe: { ...probe('/healthz', needs), periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { ...probe('/readyz', needs), periodSeconds: 3, failureThreshold: 2 },
    livenessProbe: { ...probe('/healthz', needs), periodSeconds: 10, failureThreshold: 6 },
    resources: spec.resources ?? resourcesFor(needs.workers ?? 1),
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [
      { name: 'bundle', mountPath: FOLDERS.bundle, readOnly: true },
      { name: 'trust', mountPath: FOLDERS.trust, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      ...needs.secrets.map((secret) => ({
        name: volumeName(secret),
        mountPath: `${FOLDERS.secrets}/${secret}`,
        readOnly: true,
      })),
      ...spec.volumes.map(({ name, mountPath }) => ({
        name: userVolume(name),
        mountPath,
        readOnly: true,
      })),
    ],
  }
}

function resourcesFor(processes: number) {
  return {
    requests: { cpu: `${500 * processes}m`, memory: `${256 * processes}Mi` },
    limits: { memory: `${processes}Gi` },
  }
}

/** The kubelet has no certificate to present: if clients must, the push port answers its probes. */
function probe(path: string, { listener }: Needs) {
  const port = listener === 'mutual' ? 'push' : clientPortName(listener)
  const scheme = port === 'https' ? { scheme: 'HTTPS' } : {}
  return { httpGet: { path, port, ...scheme }, timeoutSeconds: 5 }
}

/** Ours come last, because the last of two entries with one name wins, and these must not be overridden. */
function environmentOf({ gateway, spec, needs, drainSeconds }: WorkloadSettings) {
  const ours = [
    { name: 'GW_POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'GW_BUNDLE_DIR', value: FOLDERS.bundle },
    { name: 'GW_TRUST_DIR', value: FOLDERS.trust },
    { name: 'GW_SECRETS_DIR', value: FOLDERS.secrets },
    { name: 'GW_GATEWAY_UID', value: gateway.metadata.uid ?? '' },
    { name: 'GW_PUSH_PORT', value: String(PUSH_PORT) },
    // A pod that waits for its first configuration is already probed at these.
    { name: 'GW_LISTEN_PORT', value: String(needs.ports.listen) },
    { name: 'GW_METRICS_PORT', value: String(needs.ports.metrics) },
    { name: 'GW_DRAIN_TIMEOUT_SECONDS', value: String(drainSeconds) },
    { name: 'GW_DRAIN_DELAY_SECONDS', value: String(DRAIN_DELAY_SECONDS) },
  ]
  const taken = new Set(ours.map(({ name }) => name))
  return [...spec.env.filter(({ name }) => !taken.has(name)), ...ours]
}

function volumesOf({ gateway, needs, spec }: WorkloadSettings) {
  const { name } = gateway.metadata
  const configMap = (source: string, items: readonly { key: string; path: string }[]) => ({
    configMap: { name: source, optional: true, items },
  })
  return [
    {
      name: 'bundle',
      projected: {
        sources: [
          configMap(names.config(name), [
            { key: 'config.json', path: 'config.json' },
            { key: 'keys.json.gz', path: 'keys.json.gz' },
          ]),
          configMap(names.lastKnownGood(name), [{ key: 'config.json', path: 'lkg-config.json' }]),
          // Only if an upstream uses pods, so that no other gateway rolls for it.
          ...(needs.services === undefined && needs.pools === undefined
            ? []
            : [
                configMap(names.endpoints(name), [
                  { key: 'endpoints.json', path: 'endpoints.json' },
                ]),
              ]),
        ],
      },
    },
    { name: 'trust', configMap: { name: names.trust(name), optional: true } },
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    // Optional: a missing Secret disables one upstream, not the start of the pod.
    ...needs.secrets.map((secret) => ({
      name: volumeName(secret),
      secret: { secretName: secret, optional: true, defaultMode: 0o440 },
    })),
    ...spec.volumes.map(({ name, mountPath: _, csi, ...source }) => ({
      name: userVolume(name),
      ...source,
      ...(csi && { csi: { ...csi, readOnly: true } }),
    })),
  ]
}

/** Users choose their names: none can be that of a volume of ours. */
function userVolume(name: string): string {
  return `user-${hashOf(name).slice(0, 12)}`
}

/** Names of Secrets may be longer than names of volumes, and contain dots. */
function volumeName(secret: string): string {
  return `secret-${hashOf(secret).slice(0, 12)}`
}
