/** The kubelet and kube-proxy of the node. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Identities } from './control-plane.ts'
import { startDaemon } from './daemons.ts'
import { ADDRESS, CONTAINERD, DNS_ADDRESS, FOLDER, NODE, POD_RANGE } from './layout.ts'

type Programs = Readonly<Record<string, string>>

export const POD_LOGS = join(FOLDER, 'pod-logs')
export const KUBELET_ROOT = join(FOLDER, 'kubelet')

export async function startKubelet(programs: Programs, identities: Identities): Promise<void> {
  const resolver = join(FOLDER, 'resolv.conf')
  // It knows no names outside the cluster.
  await writeFile(resolver, '')
  const config = join(FOLDER, 'kubelet.json')
  await writeFile(config, JSON.stringify(configuration(identities, resolver), null, 2))
  await startDaemon('kubelet', programs.kubelet ?? 'kubelet', [
    `--config=${config}`,
    `--kubeconfig=${identities.configs.kubelet}`,
    `--root-dir=${KUBELET_ROOT}`,
    `--cert-dir=${join(KUBELET_ROOT, 'pki')}`,
    `--hostname-override=${NODE}`,
    `--node-ip=${ADDRESS}`,
  ])
}

/**
 * Without systemd, with cgroups of version 1; nothing is reserved for the system, which is the
 * host.
 */
function configuration(identities: Identities, resolver: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${CONTAINERD}`,
    cgroupDriver: 'cgroupfs',
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    localStorageCapacityIsolation: true,
    podLogsDir: POD_LOGS,
    resolvConf: resolver,
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: 'cluster.local',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: identities.authority.certificate },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: identities.kubelet.certificate,
    tlsPrivateKeyFile: identities.kubelet.key,
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '100Mi' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    syncFrequency: '10s',
    maxPods: 60,
  }
}

/** The limits of the connection table belong to the host; a container must not set them. */
export async function startProxy(programs: Programs, identities: Identities): Promise<void> {
  await startDaemon('kube-proxy', programs['kube-proxy'] ?? '', [
    `--kubeconfig=${identities.configs.proxy}`,
    `--hostname-override=${NODE}`,
    '--proxy-mode=nftables',
    `--cluster-cidr=${POD_RANGE}`,
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ])
}
