/**
 * An operator in the process of a test, with a real API server; its pods start if a kubelet is
 * started too.
 */
import { openCluster } from '../../operator/kube/cluster.ts'
import { createLog } from '../../operator/log.ts'
import { startOperator } from '../../operator/program.ts'
import { createTelemetry } from '../../operator/telemetry.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { LOCAL_PODS } from './local-pods.ts'

type Options = Partial<Parameters<typeof startOperator>[0]>

export interface OperatorWithin {
  readonly cluster: ControlPlane
  readonly access: Awaited<ReturnType<typeof openCluster>>
  stop(): Promise<void>
}

/** `namespaces`: created beside `ai` and the operator's own. */
export async function startOperatorWithin(
  options: Options = {},
  namespaces: readonly string[] = [],
): Promise<OperatorWithin> {
  const cluster = await startControlPlane()
  try {
    await cluster.installDefinitions()
    for (const name of ['ai', 'gw-system', ...namespaces])
      await cluster.kubectl(['create', 'namespace', name])
    const access = await openCluster({ env: process.env, kubeconfig: cluster.kubeconfig })
    const operator = startOperator({
      cluster: access,
      namespace: 'gw-system',
      watchNamespaces: [],
      identity: 'test',
      release: { image: 'gw:test', version: 'test', operatorNamespace: 'gw-system' },
      rolloutsMax: 1,
      network: LOCAL_PODS,
      log: createLog(() => undefined, Date.now),
      telemetry: createTelemetry(),
      ...options,
    })
    return { cluster, access, stop: () => operator.stop().then(() => cluster.stop()) }
  } catch (error) {
    await cluster.stop()
    throw error
  }
}
