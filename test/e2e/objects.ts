/**
 * Objects that the tests create in the cluster: model servers, gateways in front of them, keys, and
 * client pods.
 */
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { aKey } from '../helpers/a-key.ts'
import { SPACE } from './spaces.ts'

type Fields = Readonly<Record<string, unknown>>

/** The settings that the namespace requires in every pod. */
export const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  seccompProfile: { type: 'RuntimeDefault' },
}
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}
const LITTLE = { requests: { cpu: '40m', memory: '32Mi' } }

export interface PodOptions {
  readonly name: string
  readonly image: string
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** A pod that runs a program of test/e2e/client, found in /client. */
export function clientPod({ name, image, command, env = {} }: PodOptions): object {
  const container = {
    name: 'client',
    image,
    command,
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    resources: LITTLE,
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: 'client', mountPath: '/client' },
      { name: 'scratch', mountPath: '/scratch' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: SPACE, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      securityContext: POD_SECURITY,
      containers: [container],
      volumes: [
        { name: 'client', configMap: { name: 'client' } },
        { name: 'scratch', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  }
}

export function clientPrograms(): object {
  const text = (name: string) => readFileSync(join(import.meta.dirname, 'client', name), 'utf8')
  const names = readdirSync(join(import.meta.dirname, 'client'))
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'client', namespace: SPACE },
    data: Object.fromEntries(names.map((name) => [name, text(name)])),
  }
}

/** A model server without a model: a Deployment and a Service of that name, port 9000. */
export function simulator(name: string, image: string, ...options: readonly string[]): object[] {
  return server(name, { image, args: ['simulate', '--host', '0.0.0.0', ...options] })
}

/** A model server that answers with the received credential. */
export function tellingUpstream(name: string, image: string): object[] {
  return server(name, { image, command: ['node', '/client/upstream.ts'] })
}

export function server(name: string, program: Fields): object[] {
  const labels = { app: name }
  const container = {
    name: 'model',
    ...program,
    ports: [{ containerPort: 9000 }],
    readinessProbe: {
      httpGet: { path: '/health', port: 9000 },
      periodSeconds: 2,
      timeoutSeconds: 5,
    },
    resources: LITTLE,
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: 'client', mountPath: '/client' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
  const spec = {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    securityContext: POD_SECURITY,
    containers: [container],
    volumes: [
      { name: 'client', configMap: { name: 'client' } },
      { name: 'tmp', emptyDir: {} },
    ],
  }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: SPACE },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: SPACE },
      spec: { selector: labels, ports: [{ port: 9000 }] },
    },
  ]
}

export interface GatewayOptions {
  readonly gw?: Fields
  readonly spec?: Fields
}

const PLENTY = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 10_000 }

/**
 * Routes `chat` to the simulator `fast` and `slow` to `slow`; pods are small, so that five fit
 * beside the others.
 */
export function gateway(name: string, { gw = {}, spec = {} }: GatewayOptions = {}): object {
  const upstream = (model: string) => ({
    name: model,
    provider: 'vllm',
    endpoint: `http://${model}:9000`,
    model,
    context_window: 131_072,
  })
  const route = (model: string, upstreamName: string) => ({
    name: model,
    strategy: 'single',
    primary: upstreamName,
  })
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name, namespace: SPACE },
    spec: {
      resources: { requests: { cpu: '60m', memory: '128Mi' }, limits: { memory: '512Mi' } },
      ...spec,
    },
    gw: {
      upstreams: [upstream('fast'), upstream('slow')],
      routes: [route('chat', 'fast'), route('slow', 'slow')],
      rate_limits: { default: PLENTY },
      ...gw,
    },
  }
}

/** A new key of a tenant, and the object that declares it. */
export function gatewayKey(gatewayName: string, tenant: string) {
  // The hash of a key never changes: each run creates a new key.
  const name = `${gatewayName}-${tenant}-${randomInt(1_000_000)}`
  const { key, record } = aKey({ id: name })
  const object = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayKey',
    metadata: { name, namespace: SPACE },
    spec: { gateway: gatewayName, tenant, routes: ['*'], hash: record.hash },
  }
  return { key, object }
}
