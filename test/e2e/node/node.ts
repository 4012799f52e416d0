/**
 * A real one-node Kubernetes on this machine: started once, used by every caller, and removed
 * completely.
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { type Kubectl, makeKubectl } from '../../helpers/kubernetes/kubectl.ts'
import { providePrograms } from '../../helpers/kubernetes/programs.ts'
import { until } from '../../helpers/until.ts'
import { raiseContainers } from './cgroups.ts'
import { startContainerd } from './containerd.ts'
import {
  type Identities,
  KUBELET_CLIENT,
  makeIdentities,
  startApiServer,
  startControllers,
} from './control-plane.ts'
import { daemonOutputs, deadDaemons } from './daemons.ts'
import { dnsObjects } from './dns.ts'
import { importToolsImage } from './images.ts'
import { startKubelet, startProxy } from './kubelet.ts'
import { FOLDER, KUBECONFIG, NETWORK, NODE, READY } from './layout.ts'
import { makeNetwork } from './network.ts'
import { rememberKernelSettings, removeNode } from './remove.ts'
import { missingPackages } from './system.ts'

const PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
  'coredns',
]
const SECONDS_MAX = 300

/** Resolves to whether it had to be started; a running node is used. */
export async function ensureNode(): Promise<boolean> {
  if (await isNodeReady()) return false
  refuseWhereItCannotRun()
  const programs = await providePrograms(PROGRAMS)
  await removeNode()
  try {
    await start(programs)
  } catch (error) {
    const outputs = await daemonOutputs()
    await removeNode()
    throw new Error(`The node did not start.\n${outputs}`, { cause: error })
  }
  return true
}

/** True if it was ready once, and all its programs still run. */
export async function isNodeReady(): Promise<boolean> {
  return existsSync(READY) && existsSync(NETWORK) && (await deadDaemons()).length === 0
}

/** kubectl of the node's administrator, callable from anywhere. */
export async function nodeKubectl(): Promise<Kubectl> {
  const { kubectl = '' } = await providePrograms(['kubectl'])
  const kubectlInside = makeKubectl('nsenter', KUBECONFIG)
  return (args, options) => kubectlInside([`--net=${NETWORK}`, kubectl, ...args], options)
}

function refuseWhereItCannotRun(): void {
  if (process.getuid?.() !== 0) {
    throw new Error('A node needs root: run as root, or set E2E_KUBECONFIG to another cluster.')
  }
  const missing = missingPackages()
  if (missing.length > 0) throw new Error(`Install ${missing.join(' ')}.`)
}

async function start(programs: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(FOLDER, { recursive: true, mode: 0o711 })
  await rememberKernelSettings()
  await makeNetwork()
  const identities = await makeIdentities()
  await startApiServer(programs, identities)
  await raiseContainers()
  await startContainerd()
  await importToolsImage(programs.coredns ?? '')
  const kubectl = await nodeKubectl()
  await untilApiServerReady()
  await startWorkers(kubectl, programs, identities)
  await kubectl(['wait', '--for=condition=Ready', `node/${NODE}`, `--timeout=${SECONDS_MAX}s`])
  await kubectl(['rollout', 'status', 'deployment/coredns', '-n', 'kube-system', '--timeout=300s'])
  await writeFile(READY, '')
}

/** Also after a restart of the API server. */
export async function untilApiServerReady(): Promise<void> {
  const kubectl = await nodeKubectl()
  const isReady = async () => {
    const dead = await deadDaemons()
    if (dead.length > 0) throw new Error(`Ended: ${dead.join(', ')}.`)
    return await kubectl(['get', '--raw=/readyz', '--request-timeout=5s']).then(
      () => true,
      () => false,
    )
  }
  await until('the API server is ready', isReady, SECONDS_MAX)
}

async function startWorkers(
  kubectl: Kubectl,
  programs: Readonly<Record<string, string>>,
  identities: Identities,
): Promise<void> {
  // The kubelet remembers a refusal for half a minute, so this must precede its first request.
  await kubectl([
    'create',
    'clusterrolebinding',
    'apiserver-kubelet',
    '--clusterrole=system:kubelet-api-admin',
    `--user=${KUBELET_CLIENT}`,
  ])
  await kubectl([
    'create',
    'clusterrolebinding',
    'kube-proxy',
    '--clusterrole=system:node-proxier',
    '--user=system:kube-proxy',
  ]).catch(() => undefined)
  await startControllers(programs, identities)
  await startKubelet(programs, identities)
  await startProxy(programs, identities)
  const documents = dnsObjects()
    .map((object) => JSON.stringify(object))
    .join('\n---\n')
  await kubectl(['apply', '--server-side', '-f', '-'], { stdin: documents })
  // `kubectl wait` fails for a node that has not registered yet.
  const isRegistered = async () =>
    (await kubectl(['get', 'nodes', '-o', 'name'])).includes(`node/${NODE}`)
  await until('the node registers', isRegistered, SECONDS_MAX)
}
