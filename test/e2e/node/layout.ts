/**
 * The folder, the network namespace and the addresses of the one-node cluster, separate from the
 * host's.
 */
import { join } from 'node:path'

/** Also the name of its network namespace. */
export const NAME = 'gw-node'
export const FOLDER = join('/var/lib', NAME)
export const NETWORK = join('/run/netns', NAME)

export const NODE = 'node'
export const ADDRESS = '10.100.0.1'
export const NETWORK_RANGE = '10.100.0.0/24'
export const POD_RANGE = '10.244.0.0/16'
export const SERVICE_RANGE = '10.96.0.0/16'
export const DNS_ADDRESS = '10.96.0.10'
export const API_SERVER = `https://${ADDRESS}:6443`

export const KUBECONFIG = join(FOLDER, 'admin.kubeconfig')
/** Exists once the node was ready. */
export const READY = join(FOLDER, 'ready')
export const CONTAINERD = join(FOLDER, 'containerd.sock')
export const CONTAINERD_STATE = join(FOLDER, 'containers-state')

/**
 * Runs a program in the cluster's network, with the cgroups of the host, which `ip netns exec`
 * would hide.
 */
export function inNetwork(program: string, args: readonly string[]): [string, string[]] {
  return ['nsenter', [`--net=${NETWORK}`, program, ...args]]
}
