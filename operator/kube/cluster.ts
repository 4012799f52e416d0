/** Finds the cluster and the credentials for it. The only file that knows client-node. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Duplex, PassThrough } from 'node:stream'
import type { KubeConfig } from '@kubernetes/client-node'
import { messageOf } from '../log.ts'
import {
  type Cluster,
  type ClusterOptions,
  type Credentials,
  credentialsFault,
  namedCluster,
} from './credentials.ts'
import { readPlainKubeconfig } from './kubeconfig.ts'
import type { TlsSettings } from './transport.ts'

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const NO_CLUSTER = 'no cluster configured; set KUBECONFIG, give --kubeconfig, or run inside a pod'

/** Throws an error with advice if no cluster is configured. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { env, kubeconfig, context } = options
  const isInside = kubeconfig === undefined && env.KUBECONFIG === undefined
  const host = env.KUBERNETES_SERVICE_HOST
  // Inside a pod the credentials are three files; the library would need over 100 MiB to read them.
  if (isInside && host) return inCluster(host, env.KUBERNETES_SERVICE_PORT ?? '443')
  const plain = readPlainKubeconfig({ env, kubeconfig, context })
  if (plain !== undefined) return plain
  // The library would invent an address for the cluster.
  const isAnywhere = !isInside || existsSync(join(homedir(), '.kube', 'config'))
  if (!isAnywhere) throw new Error(NO_CLUSTER)
  return await fromKubeconfig(kubeconfig, context)
}

async function inCluster(host: string, port: string): Promise<Cluster> {
  const namespace = await readFile(`${ACCOUNT}/namespace`, 'utf8')
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: namespace.trim(),
    async credentials() {
      // The kubelet replaces the token long before it expires.
      const token = await readFile(`${ACCOUNT}/token`, 'utf8')
      const ca = await readFile(`${ACCOUNT}/ca.crt`, 'utf8')
      return { authorization: `Bearer ${token.trim()}`, tls: { ca } }
    },
  }
}

async function fromKubeconfig(
  file: string | undefined,
  context: string | undefined,
): Promise<Cluster> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const load = () => loaded(new KubeConfig(), file, context)
  const config = load()
  const { server, proxyUrl: proxy } = namedCluster(config, placeOf(file))
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? 'default'
  return { server, namespace, proxy, credentials: () => credentialsOf(load()) }
}

function loaded(config: KubeConfig, file: string | undefined, context: string | undefined) {
  try {
    if (file === undefined) config.loadFromDefault()
    else config.loadFromFile(file)
  } catch (error) {
    const isOdd = error instanceof TypeError
    const said = isOdd ? 'a field has the wrong type' : messageOf(error)
    const [reason] = said.split('\n')
    throw new Error(`the kubeconfig${placeOf(file)} cannot be used: ${reason}`)
  }
  if (context !== undefined) {
    if (config.getContextObject(context) === null) {
      const known = config.getContexts().map(({ name }) => name)
      throw new Error(`no context "${context}" in the kubeconfig; it has ${known.join(', ')}`)
    }
    config.setCurrentContext(context)
  }
  return config
}

function placeOf(file: string | undefined): string {
  const place = file ?? process.env.KUBECONFIG
  return place === undefined ? '' : ` ${place}`
}

/** One port of a pod. */
export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/** Connects a socket to the port of a pod, through the API server; the permission is `pods/portforward`. */
export type Forward = (to: PodPort, socket: Duplex) => Promise<void>

export async function openForward({ kubeconfig, context }: ClusterOptions): Promise<Forward> {
  const { KubeConfig, PortForward } = await import('@kubernetes/client-node')
  return async ({ namespace, pod, port }, socket) => {
    const config = loaded(new KubeConfig(), kubeconfig, context)
    const faults = new PassThrough().resume()
    const opened = await new PortForward(config).portForward(
      namespace,
      pod,
      [port],
      socket,
      faults,
      socket,
    )
    // Without retries the result is the connection itself rather than a function that gives it.
    const connection = typeof opened === 'function' ? opened() : opened
    if (connection === null) throw new Error(`pod ${pod} cannot be reached`)
    connection.onclose = () => socket.end()
    socket.on('close', () => connection.close())
    faults.on('data', () => socket.destroy())
  }
}

interface AppliedOptions extends TlsSettings {
  auth?: string
  headers?: Record<string, unknown>
}

async function credentialsOf(config: KubeConfig): Promise<Credentials> {
  const options: AppliedOptions = {}
  await config.applyToHTTPSOptions(options).catch((error: unknown) => {
    throw new Error(credentialsFault(config.getCurrentUser(), error))
  })
  const { ca, cert, key, servername, rejectUnauthorized, auth, headers } = options
  const basic = auth === undefined ? undefined : `Basic ${Buffer.from(auth).toString('base64')}`
  const authorization = headers?.Authorization ?? basic
  return {
    ...(typeof authorization === 'string' ? { authorization } : {}),
    tls: { ca, cert, key, servername, rejectUnauthorized },
  }
}
