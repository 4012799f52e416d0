/** A cluster with the operator and pods that are processes, and what tests do to gateways in it. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PUSH_ADDRESS_ANNOTATION } from '../../operator/workload/names.ts'
import { until } from '../integration/gateway-process.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type OperatorProcess, startOperatorProcess } from './operator-process.ts'
import { type ProcessKubelet, startProcessKubelet } from './process-kubelet.ts'

type Fields = Readonly<Record<string, unknown>>

export interface OperatorRig {
  readonly cluster: ControlPlane
  readonly kubelet: ProcessKubelet
  operator: OperatorProcess
  apply(...documents: readonly object[]): Promise<void>
  /** The status codes with which the pods answer a request for the models. */
  answersTo(key: string): Promise<number[]>
  /** From now on documents for this pod go to that address. */
  redirect(pod: string, address: string): Promise<void>
  stop(): Promise<void>
}

export async function startOperatorRig(): Promise<OperatorRig> {
  const cluster = await startControlPlane()
  await cluster.installDefinitions()
  for (const name of ['ai', 'gw-system', 'team-a', 'team-b']) {
    await cluster.kubectl(['create', 'namespace', name])
  }
  const operator = await startOperatorProcess(cluster)
  const kubelet = await startProcessKubelet(cluster)
  const rig: OperatorRig = {
    cluster,
    kubelet,
    operator,
    async apply(...documents) {
      const stdin = documents.map((one) => JSON.stringify(one)).join('\n---\n')
      await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
    },
    async answersTo(key) {
      const headers = { authorization: `Bearer ${key}` }
      return await Promise.all(
        kubelet.pods().map(async ({ url }) => {
          const answer = await fetch(`${url}/v1/models`, { headers })
          await answer.body?.cancel()
          return answer.status
        }),
      )
    },
    async redirect(pod, address) {
      const annotation = `${PUSH_ADDRESS_ANNOTATION}=${address}`
      await cluster.kubectl(['annotate', 'pod', pod, '-n', 'ai', annotation, '--overwrite'])
    },
    async stop() {
      await rig.operator.stop()
      await kubelet.stop()
      await cluster.stop()
    },
  }
  return rig
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

/** A pod that is none: it answers as it is told to, or never. */
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
