/** The gateways that a command asks: the one in --admin, or every running pod of a gateway in a cluster. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { type AdminAnswer, type Asking, askAdmin } from './connection.ts'
import type { Place } from './place.ts'

export interface AskedGateway {
  /** URL of the admin API, or name of the pod. */
  readonly name: string
  ask(path: string, asking?: Asking): Promise<AdminAnswer>
  /** Origin of the client port, for requests as clients send them. */
  clientUrl(): Promise<string>
}

export type AskedGateways = readonly [AskedGateway, ...AskedGateway[]]

const ADMIN_PORT = 9091
const LISTEN_PORT = 8080

export async function withGateways<T>(
  place: Place,
  use: (gateways: AskedGateways) => Promise<T>,
): Promise<T> {
  if (place.kind === 'stand-alone') return await use([standAlone(place.admin)])
  const { findGateway, podsOf, withCluster } = await import('./cluster-access.ts')
  const { openTunnel } = await import('./tunnel.ts')
  return await withCluster(place, async (access) => {
    const gateway = await findGateway(access)
    const { name, namespace = access.namespace } = gateway.metadata
    const [first, ...others] = await podsOf(access, gateway)
    if (first === undefined)
      throw new Error(`No pod of gateway "${name}" runs; see \`gw status -n ${namespace}\`.`)
    const tunnels = new Map<string, ReturnType<typeof openTunnel>>()
    const tunnelTo = async (pod: string, port: number) => {
      const key = `${pod}:${port}`
      const tunnel = tunnels.get(key) ?? openTunnel(place, { namespace, pod, port })
      tunnels.set(key, tunnel)
      return await tunnel
    }
    const asGateway = (pod: KubeObject): AskedGateway => ({
      name: pod.metadata.name,
      ask: async (path, asking) => {
        const tunnel = await tunnelTo(pod.metadata.name, adminPortOf(pod, gateway))
        return await askAdmin(tunnel.url, path, asking).catch((error: Error) => {
          const at = { pod: pod.metadata.name, namespace }
          throw new Error(silence(at, tunnel.fault(), error.message), { cause: error })
        })
      },
      clientUrl: async () => {
        const { url } = await tunnelTo(pod.metadata.name, listenPortOf(gateway))
        const isSecure = valueBelow(gateway, 'gw', 'gateway', 'tls') !== undefined
        return isSecure ? url.replace('http:', 'https:') : url
      },
    })
    try {
      return await use([asGateway(first), ...others.map(asGateway)])
    } finally {
      for (const tunnel of tunnels.values()) (await tunnel).close()
    }
  })
}

function standAlone(admin: string): AskedGateway {
  return {
    name: admin,
    ask: (path, asking) => askAdmin(admin, path, asking),
    async clientUrl() {
      const { body } = await askAdmin(admin, '/status')
      const url = clientsOf(body)
      if (url === null)
        throw new Error(`The gateway at ${admin} does not report the address for clients.`)
      return url.origin
    },
  }
}

/** Where clients on the same machine reach a gateway, by its status; null if the status has no such address. */
export function clientsOf(status: unknown): URL | null {
  const url = URL.parse(String(valueBelow(status, 'listeners', 'clients')))
  // A server that listens on every address also listens on loopback.
  if (url?.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url?.hostname === '[::]') url.hostname = '[::1]'
  return url
}

/** Why a pod gave no answer, and how to fix it. */
export function silence(
  { pod, namespace }: { readonly pod: string; readonly namespace: string },
  fault: string | undefined,
  said: string,
): string {
  if (fault !== undefined && /\b(401|403)\b/.test(fault)) {
    return `Pod ${pod} does not answer through the API server; you need the permission to create pods/portforward there.`
  }
  const why = fault ?? /\((.*?)\)/.exec(said)?.[1] ?? said
  return (
    `Pod ${pod} does not answer (${why}). If this continues, check its log and its events: ` +
    `kubectl logs ${pod} -n ${namespace}, kubectl describe pod ${pod} -n ${namespace}.`
  )
}

/** The answers, and why other gateways gave none. Throws if no gateway answers. */
export async function askEach<T>(
  gateways: AskedGateways,
  ask: (gateway: AskedGateway) => Promise<T>,
): Promise<{ readonly answers: readonly T[]; readonly silent: readonly string[] }> {
  const asked = await Promise.allSettled(gateways.map(ask))
  const answers = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const faults = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  if (answers.length === 0) throw faults[0]
  return { answers, silent: faults.map((fault) => (fault as Error).message) }
}

/** A variable of the pod overrides the configuration. */
function adminPortOf(pod: KubeObject, gateway: KubeObject): number {
  const containers = valueBelow(pod, 'spec', 'containers')
  const env = Array.isArray(containers) ? valueBelow(containers[0], 'env') : undefined
  const entries = Array.isArray(env) ? env : []
  const said = entries.find((entry) => valueBelow(entry, 'name') === 'GW_ADMIN_PORT')
  const written = valueBelow(gateway, 'gw', 'gateway', 'admin_port')
  return Number(valueBelow(said, 'value') ?? written ?? ADMIN_PORT)
}

function listenPortOf(gateway: KubeObject): number {
  return Number(valueBelow(gateway, 'gw', 'gateway', 'listen_port') ?? LISTEN_PORT)
}
