/** Addresses and ports at which nobody could reach the pod. */
import { refuse } from '../../dataplane/config/problems.ts'
import { PUSH_PORT } from '../../dataplane/config/signed.ts'
import type { ClusterCheck } from './contract.ts'

const LOOPBACK = /^(127\.|::1$|localhost$)/

export const reachableListener: ClusterCheck = ({ gw }) => {
  const { listen_address } = gw.gateway
  const ports = ['listen_port', 'metrics_port', 'admin_port'] as const
  return [
    ...(LOOPBACK.test(listen_address)
      ? [
          refuse(
            ['gw', 'gateway', 'listen_address'],
            `${listen_address} is reached from inside the pod only`,
            'Remove it; the default is every address of the pod.',
          ),
        ]
      : []),
    ...ports
      .filter((port) => gw.gateway[port] === PUSH_PORT)
      .map((port) =>
        refuse(
          ['gw', 'gateway', port],
          `${PUSH_PORT} is the port at which the pod takes its configuration`,
          'Choose another port.',
        ),
      ),
    ...ports
      .filter((port) => gw.gateway[port] < 1024)
      .map((port) =>
        refuse(
          ['gw', 'gateway', port],
          'ports below 1024 may not be bound by the pod, which runs without privileges',
          'Choose a port above 1023; spec.service.port is what clients use.',
        ),
      ),
  ]
}
