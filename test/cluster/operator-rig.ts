/** A cluster with the operator and pods that are processes, and what tests do to gateways in it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { PUSH_ADDRESS_ANNOTATION } from './local-pods.ts'
import {
  type OperatorProcess,
  startOperatorProcess,
  stopOperators,
  supervise,
} from './operator-process.ts'
import { type KubeletOptions, type ProcessKubelet, startProcessKubelet } from './process-kubelet.ts'

type Fields = Readonly<Record<string, unknown>>

export interface OperatorRig {
  readonly cluster: ControlPlane
  readonly kubelet: ProcessKubelet
  operator: OperatorProcess
  apply(...documents: readonly object[]): Promise<void>
  /** The status codes with which the pods answer a request for the models; 0 for none. */
  answersTo(key: string): Promise<number[]>
  /** From now on documents for this pod go to that address. */
  redirect(pod: string, address: string): Promise<void>
  /** From now on an operator that has ended is started again, as a cluster does, until the returned function is called. */
  keepOperatorRunning(): () => Promise<void>
  stop(): Promise<void>
}

export interface RigOptions {
  /** More arguments of the operator. */
  readonly args?: readonly string[]
  readonly kubelet?: Partial<KubeletOptions>
  /** By way of which server the operator sees the cluster, where not directly. */
  readonly kubeconfigOf?: (cluster: ControlPlane) => Promise<string>
}

export async function startOperatorRig(options: RigOptions = {}): Promise<OperatorRig> {
  const cluster = await startControlPlane()
  let kubelet: ProcessKubelet | undefined
  const stop = async () => {
    await stopOperators()
    await kubelet?.stop()
    await cluster.stop()
  }
  try {
    await cluster.installDefinitions()
    for (const name of ['ai', 'gw-system', 'team-a', 'team-b']) {
      await cluster.kubectl(['create', 'namespace', name])
    }
    const { kubeconfig } = cluster
    const args = options.args ?? []
    const seen = (await options.kubeconfigOf?.(cluster)) ?? kubeconfig
    const operator = await startOperatorProcess({ kubeconfig: seen, args })
    kubelet = await startProcessKubelet({ kubeconfig, ...options.kubelet })
    const startAgain = () => startOperatorProcess({ kubeconfig: seen, args, isAwaited: false })
    return assemble({ cluster, kubelet, operator }, { stop, startAgain })
  } catch (error) {
    // The caller gets nothing that it could stop, and the running processes would keep the test from ending.
    await stop()
    throw error
  }
}

function assemble(
  { cluster, kubelet, operator }: Pick<OperatorRig, 'cluster' | 'kubelet' | 'operator'>,
  { stop, startAgain }: Pick<OperatorRig, 'stop'> & { startAgain: () => Promise<OperatorProcess> },
): OperatorRig {
  const rig: OperatorRig = {
    cluster,
    kubelet,
    operator,
    async apply(...documents) {
      const stdin = documents.map((one) => JSON.stringify(one)).join('\n---\n')
      await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
    },
    async answersTo(key) {
      const pods = kubelet.pods()
      // No pod at all must not look as if every pod agreed.
      if (pods.length === 0) return [0]
      return await Promise.all(pods.map(({ url }) => statusOfModels(url, key).catch(() => 0)))
    },
    async redirect(pod, address) {
      const annotation = `${PUSH_ADDRESS_ANNOTATION}=${address}`
      await cluster.kubectl(['annotate', 'pod', pod, '-n', 'ai', annotation, '--overwrite'])
    },
    keepOperatorRunning: () => supervise(rig, startAgain),
    stop,
  }
  return rig
}

/** With a separate connection: one that the pod closes as it is used would say nothing about the key. */
async function statusOfModels(url: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const asked = request(`${url}/v1/models`, { headers, agent: false, timeout: 10_000 }).end()
  asked.on('timeout', () => asked.destroy(new Error('the pod does not answer')))
  const [answer]: readonly IncomingMessage[] = await once(asked, 'response')
  answer?.resume()
  return answer?.statusCode ?? 0
}

/** A gateway with valid defaults; `gw` and `spec` are merged into them. */
export function aGateway({ gw = {}, spec = {} }: { gw?: Fields; spec?: Fields } = {}) {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai' },
    spec: { replicas: 2, ...spec },
    gw: {
      upstreams: [
        { name: 'local', provider: 'vllm', endpoint: 'http://10.1.2.3:8000', model: 'm' },
      ],
      routes: [{ name: 'chat', strategy: 'single', upstreams: ['local'] }],
      ...gw,
    },
  }
}

export function aGatewayKey(name: string, spec: Fields, namespace = 'ai') {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayKey',
    metadata: { name, namespace },
    spec: { gateway: 'production', tenant: 'acme', routes: ['*'], ...spec },
  }
}

/** A false pod: it answers as the test says, or never. */
export async function startFakePod(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await until('the fake pod listens', () => server.address() !== null)
  // A server that listens on an address and port has both.
  const { port } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${port}`,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
