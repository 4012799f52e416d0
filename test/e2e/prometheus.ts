/** A Prometheus in the cluster, which evaluates the alerts of its rules. */
import { stringify } from 'yaml'
import { CONTAINER_SECURITY, POD_SECURITY } from './objects.ts'
import { MONITORING } from './spaces.ts'
import { rolledOut, type World } from './world.ts'

const NAME = 'prometheus'
const labels = { app: NAME }
const space = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: MONITORING, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
}
const here = { name: NAME, namespace: MONITORING }

export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [at: number, value: string]
}

export interface Prometheus {
  /** The instant answer to an expression. */
  query(expression: string): Promise<readonly Series[]>
  rules(): Promise<readonly { name: string; health: string; state: string; lastError?: string }[]>
  /** Deletes all samples, so that no expression sees what was before. */
  forget(): Promise<void>
}

export interface PrometheusOptions {
  readonly image: string
  /** As in `scrape_configs`. */
  readonly scrapes: readonly object[]
  /** The `spec` of a PrometheusRule. */
  readonly rules: object
}

export async function startPrometheus(
  world: World,
  options: PrometheusOptions,
): Promise<Prometheus> {
  await world.apply(space, ...program(options))
  await rolledOut(world, 'deployment', NAME, MONITORING)
  const api = `/api/v1/namespaces/${MONITORING}/services/${NAME}:9090/proxy/api/v1`
  const ask = async (path: string) =>
    JSON.parse(await world.kubectl(['get', '--raw', `${api}/${path}`])).data
  return {
    query: async (expression) =>
      (await ask(`query?query=${encodeURIComponent(expression)}`)).result,
    rules: async () =>
      (await ask('rules')).groups.flatMap((group: { rules: object[] }) => group.rules),
    async forget() {
      const all = encodeURIComponent('{__name__=~".+"}')
      const path = `${api}/admin/tsdb/delete_series?match[]=${all}`
      await world.kubectl(['create', '--raw', path, '-f', '-'], { stdin: '' })
    },
  }
}

function program({ image, scrapes, rules }: PrometheusOptions): object[] {
  const configuration = {
    global: { evaluation_interval: '1s' },
    rule_files: ['/etc/monitoring/rules.yaml'],
    scrape_configs: scrapes,
  }
  const files = { 'prometheus.yaml': stringify(configuration), 'rules.yaml': stringify(rules) }
  const container = {
    name: NAME,
    image,
    args: [
      '--config.file=/etc/monitoring/prometheus.yaml',
      '--storage.tsdb.path=/tmp/data',
      '--web.enable-admin-api',
    ],
    readinessProbe: { httpGet: { path: '/-/ready', port: 9090 }, periodSeconds: 2 },
    resources: { requests: { cpu: '40m', memory: '64Mi' } },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: 'files', mountPath: '/etc/monitoring' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
  const spec = {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    securityContext: POD_SECURITY,
    containers: [container],
    volumes: [
      { name: 'files', configMap: { name: NAME } },
      { name: 'tmp', emptyDir: {} },
    ],
  }
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: here, data: files },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: here,
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: here,
      spec: { selector: labels, ports: [{ port: 9090 }] },
    },
  ]
}
