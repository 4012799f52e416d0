/** A Prometheus that follows the operators, and the pods of the gateways in which incidents are planted. */
import { until } from '../../helpers/until.ts'
import { type Prometheus, type Series, startPrometheus } from '../prometheus.ts'
import { SPACE, SYSTEM } from '../spaces.ts'
import { SECONDS_MAX, type World } from '../world.ts'

const OPERATORS = 2

export interface Watch {
  /** The present series of a rule, without those of other gateways. */
  ask(expression: string, gateway: string): Promise<readonly Series[]>
  /** Resolves once every target has been read again. */
  sees(): Promise<void>
  /** Deletes all samples, and resolves once every target has new ones. */
  begin(): Promise<void>
}

/**
 * It finds the pods by the names of Services without an address, because Debian's build lacks the discovery of Kubernetes, and
 * pods come and go.
 */
export async function startWatch(
  world: World,
  image: string,
  gateways: Readonly<Record<string, number>>,
): Promise<Watch> {
  const names = Object.keys(gateways)
  await world.apply(...names.map(podsOf))
  const scrapes = [
    scrape('operators', `gw-metrics.${SYSTEM}.svc`, 8081, { namespace: SYSTEM }),
    ...names.map((gateway) =>
      scrape(gateway, `${serviceOf(gateway)}.${SPACE}.svc`, 9090, { namespace: SPACE, gateway }),
    ),
  ]
  const prometheus = await startPrometheus(world, { image, scrapes, rules: { groups: [] } })
  const pods = Object.values(gateways).reduce((sum, count) => sum + count, OPERATORS)
  return {
    async ask(expression, gateway) {
      const all = await prometheus.query(expression)
      return all.filter(({ metric }) => (metric.gateway ?? gateway) === gateway)
    },
    async sees() {
      const now = await clockOf(prometheus)
      const isNew = async () => (await oldest(prometheus)) > now
      await until('every target is read', isNew, SECONDS_MAX)
    },
    async begin() {
      await prometheus.forget()
      const isRead = async () => (await prometheus.query('up == 1')).length >= pods
      await until(`${pods} targets are read`, isRead, SECONDS_MAX)
    },
  }
}

async function clockOf({ query }: Prometheus): Promise<number> {
  return Number((await query('vector(time())'))[0]?.value[1] ?? 0)
}

/** The time of the oldest of the newest samples. The `timestamp` of a comparison would be the time of the query. */
async function oldest({ query }: Prometheus): Promise<number> {
  return Number((await query('min(timestamp(up) and up == 1)'))[0]?.value[1] ?? 0)
}

function serviceOf(gateway: string): string {
  return `${gateway}-watched`
}

function podsOf(gateway: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serviceOf(gateway), namespace: SPACE },
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: { 'inference.gw/gateway': gateway },
      ports: [{ port: 9090 }],
    },
  }
}

function scrape(
  name: string,
  host: string,
  port: number,
  labels: Readonly<Record<string, string>>,
): object {
  return {
    job_name: name,
    scrape_interval: '1s',
    dns_sd_configs: [{ names: [host], type: 'A', port, refresh_interval: '1s' }],
    relabel_configs: Object.entries(labels).map(([label, value]) => ({
      target_label: label,
      replacement: value,
    })),
  }
}

export async function endWatch({ kubectl }: World, gateways: readonly string[]): Promise<void> {
  const names = gateways.map(serviceOf)
  await kubectl(['-n', SPACE, 'delete', 'service', ...names, '--ignore-not-found'])
}
