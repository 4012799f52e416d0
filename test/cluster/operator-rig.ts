/** A cluster with the operator and pods as processes, and the acts of tests on its gateways. */
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
  /** The status codes of the pods for a list of models; 0 without an answer. */
  answersTo(key: string): Promise<number[]>
  /** From now on the operator sends this pod's documents to that address. */
  redirect(pod: string, address: string): Promise<void>
  /** Restarts the operator whenever it ends, as a cluster does, until the caller calls the returned function. */
  keepOperatorRunning(): () => Promise<void>
  stop(): Promise<void>
}

export interface RigOptions {
  /** Additional arguments of the operator. */
  readonly args?: readonly string[]
  readonly kubelet?: Partial<KubeletOptions>
  /** The proxy through which the operator reaches the API server, if any. */
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
    // A failed start returns nothing to stop, so the running processes would prevent the end of the test.
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
      // Without any pod the test must not conclude that every pod agrees.
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

/** On a separate connection: if the pod closes a used one, the error says nothing about the key. */
async function statusOfModels(url: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const asked = request(`${url}/v1/models`, { headers, agent: false, timeout: 10_000 }).end()
  asked.on('timeout', () => asked.destroy(new Error('the pod does not answer')))
  const [answer]: readonly IncomingMessage[] = await once(asked, 'response')
  answer?.resume()
  return answer?.statusCode ?? 0
}

/** A gateway with valid defaults, merged with `gw` and `spec`. */
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

/** A fake pod: it answers as the test defines, or never. */
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
