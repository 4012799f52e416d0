/** etcd, the API server, the controllers and the scheduler, as the node runs them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Authority,
  makeAuthority,
  makeTokenKeys,
  type Pair,
} from '../../helpers/kubernetes/authority.ts'
import { startDaemon } from './daemons.ts'
import { ADDRESS, API_SERVER, FOLDER, KUBECONFIG, NODE, SERVICE_RANGE } from './layout.ts'

/** The user as which the API server asks the kubelet for logs and port-forwards. */
export const KUBELET_CLIENT = 'apiserver-kubelet'

export interface Identities {
  readonly authority: Authority
  readonly tokens: Pair
  readonly apiServer: Pair
  readonly kubelet: Pair
  readonly kubeletClient: Pair
  /** Kubeconfigs by user. */
  readonly configs: Readonly<Record<'controllers' | 'scheduler' | 'kubelet' | 'proxy', string>>
}

export async function makeIdentities(): Promise<Identities> {
  const authority = await makeAuthority(FOLDER)
  const configFor = async (name: string, user: string, groups: readonly string[] = []) =>
    await writeKubeconfig(name, authority, await authority.client(user, groups))
  await configFor('admin', 'admin', ['system:masters'])
  return {
    authority,
    tokens: await makeTokenKeys(FOLDER),
    apiServer: await authority.server('apiserver', SERVER_NAMES),
    kubelet: await authority.server('kubelet', `IP:${ADDRESS},DNS:${NODE}`),
    kubeletClient: await authority.client(KUBELET_CLIENT),
    configs: {
      controllers: await configFor('controllers', 'system:kube-controller-manager'),
      scheduler: await configFor('scheduler', 'system:kube-scheduler'),
      kubelet: await configFor('kubelet', `system:node:${NODE}`, ['system:nodes']),
      proxy: await configFor('proxy', 'system:kube-proxy'),
    },
  }
}

const SERVER_NAMES = [
  `IP:${ADDRESS}`,
  'IP:127.0.0.1',
  'IP:10.96.0.1',
  'DNS:localhost',
  'DNS:kubernetes',
  'DNS:kubernetes.default',
  'DNS:kubernetes.default.svc',
  'DNS:kubernetes.default.svc.cluster.local',
].join(',')

type Programs = Readonly<Record<string, string>>

export async function startApiServer(programs: Programs, identities: Identities): Promise<void> {
  await startDaemon('etcd', programs.etcd ?? 'etcd', [
    `--data-dir=${join(FOLDER, 'etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ])
  await startDaemon('kube-apiserver', programs['kube-apiserver'] ?? '', [
    '--etcd-servers=http://127.0.0.1:2379',
    `--advertise-address=${ADDRESS}`,
    '--secure-port=6443',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--endpoint-reconciler-type=lease',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    `--tls-cert-file=${identities.apiServer.certificate}`,
    `--tls-private-key-file=${identities.apiServer.key}`,
    `--client-ca-file=${identities.authority.certificate}`,
    `--kubelet-certificate-authority=${identities.authority.certificate}`,
    `--kubelet-client-certificate=${identities.kubeletClient.certificate}`,
    `--kubelet-client-key=${identities.kubeletClient.key}`,
    // Otherwise logs and port-forward resolve the host's name.
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${identities.tokens.certificate}`,
    `--service-account-signing-key-file=${identities.tokens.key}`,
  ])
}

export async function startControllers(programs: Programs, identities: Identities): Promise<void> {
  await startDaemon('kube-controller-manager', programs['kube-controller-manager'] ?? '', [
    `--kubeconfig=${identities.configs.controllers}`,
    '--leader-elect=false',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${identities.tokens.key}`,
    `--root-ca-file=${identities.authority.certificate}`,
    // The only node is never evicted, even after an outage of the API server.
    '--node-monitor-grace-period=30m',
  ])
  await startDaemon('kube-scheduler', programs['kube-scheduler'] ?? '', [
    `--kubeconfig=${identities.configs.scheduler}`,
    '--leader-elect=false',
  ])
}

async function writeKubeconfig(name: string, authority: Authority, pair: Pair): Promise<string> {
  const path = name === 'admin' ? KUBECONFIG : join(FOLDER, `${name}.kubeconfig`)
  const cluster = { server: API_SERVER, 'certificate-authority': authority.certificate }
  const user = { 'client-certificate': pair.certificate, 'client-key': pair.key }
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'node', cluster }],
    users: [{ name, user }],
    contexts: [{ name: 'node', context: { cluster: 'node', user: name } }],
    'current-context': 'node',
  }
  await writeFile(path, JSON.stringify(content, null, 2), { mode: 0o600 })
  return path
}
