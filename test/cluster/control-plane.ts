/** A real API server with etcd and the controllers, on separate ports and in a separate folder. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import {
  type Authority,
  makeAuthority,
  makeTokenKeys,
  type Pair,
} from '../helpers/kubernetes/authority.ts'
import { type Kubectl, makeKubectl } from '../helpers/kubernetes/kubectl.ts'
import { CONTROL_PLANE, providePrograms } from '../helpers/kubernetes/programs.ts'
import { until } from '../helpers/until.ts'
import { type Access, get, readAt } from './api-reader.ts'
import { auditArguments } from './audit-log.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { makeServiceAccount, type ServiceAccount } from './service-account.ts'
import { sweepFormerRuns } from './sweep.ts'

const READY_SECONDS_MAX = 120

/** There are no nodes, so the node controllers must not evict the pods that tests bind. */
const CONTROLLERS_OFF = [
  'node-lifecycle-controller',
  'pod-garbage-collector-controller',
  'taint-eviction-controller',
]

export interface ControlPlane {
  /** Origin of the API server. */
  readonly url: string
  /** The kubeconfig of an administrator. */
  readonly kubeconfig: string
  readonly folder: string
  readonly kubectl: Kubectl
  /**
   * The object at this path of the API server; undefined if it does not exist. For repeated reads: a kubectl costs a
   * process.
   */
  read(path: string): Promise<unknown>
  readonly etcd: Daemon
  readonly controllers: Daemon
  /** The current API server. */
  apiServer(): Daemon
  /** Restarts the API server on the same port; `edit` changes its arguments. */
  restartApiServer(edit?: (args: readonly string[]) => readonly string[]): Promise<void>
  /** The kubeconfig of a user with a certificate, with the rights of its bindings and groups. */
  user(name: string, groups?: readonly string[]): Promise<string>
  /** Creates a service account with these rules in its namespace, and returns its kubeconfig. */
  serviceAccount(account: ServiceAccount): Promise<string>
  /** Installs both resource definitions, and waits until they are established. */
  installDefinitions(): Promise<void>
  /** Installs definitions of other projects from the file of that name in `test/fixtures/kubernetes`. */
  installTypes(of: ForeignTypes): Promise<void>
  stop(): Promise<void>
}

type ForeignTypes = 'certificates' | 'fronts' | 'gateway-api' | 'inference-pools' | 'scalers'

const FOREIGN_TYPES = join(import.meta.dirname, '../fixtures/kubernetes')
const DEFINITIONS = join(import.meta.dirname, '../../crds/manifests')

/** Another process may take a free port before its use; then everything starts again on other ports. */
const STARTS_MAX = 3

export async function startControlPlane(): Promise<ControlPlane> {
  const programs = await providePrograms(CONTROL_PLANE)
  await sweepFormerRuns()
  for (let start = 1; ; start++) {
    try {
      return await startOnce(programs)
    } catch (error) {
      const isTaken = error instanceof Error && error.message.includes('address already in use')
      if (!isTaken || start === STARTS_MAX) throw error
    }
  }
}

async function startOnce(programs: Readonly<Record<string, string>>): Promise<ControlPlane> {
  const folder = await mkdtemp(join(tmpdir(), `gw-cluster-${process.pid}-`))
  const started: Daemon[] = []
  const stop = async () => {
    await Promise.all(started.map((daemon) => daemon.stop('SIGKILL')))
    await rm(folder, { recursive: true, force: true })
  }
  const start = async (name: string, args: readonly string[]) => {
    const daemon = startDaemon(programs[name] ?? name, args, folder)
    started.push(daemon)
    await writeFile(join(folder, `${name}.pid`), String(daemon.pid))
    return daemon
  }
  try {
    return await assemble(folder, programs.kubectl ?? 'kubectl', start, stop)
  } catch (error) {
    const outputs = started.map((daemon) => `--- ${daemon.name}\n${daemon.output()}`).join('\n')
    await stop()
    throw new Error(`The control plane did not start:\n${outputs}`, { cause: error })
  }
}

type Start = (name: string, args: readonly string[]) => Promise<Daemon>

async function assemble(
  folder: string,
  program: string,
  start: Start,
  stop: () => Promise<void>,
): Promise<ControlPlane> {
  const authority = await makeAuthority(folder)
  const tokens = await makeTokenKeys(folder)
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const url = `https://127.0.0.1:${port}`
  const [serving, administrator, controller] = await Promise.all([
    authority.server('apiserver', SERVER_NAMES),
    authority.client('admin', ['system:masters']),
    authority.client('system:kube-controller-manager'),
  ])
  const configFor = (name: string, credential: object) =>
    writeKubeconfig({ folder, name, url, certificate: authority.certificate }, credential)
  const kubeconfig = await configFor('admin', certificateOf(administrator))
  const controllerConfig = await configFor('controllers', certificateOf(controller))
  const etcd = await start('etcd', etcdArguments(folder, etcdPort, peerPort))
  const serverArguments = [
    ...apiServerArguments({ etcdPort, port, serving, authority, tokens }),
    ...(await auditArguments(folder)),
  ]
  const access = {
    ca: await readFile(authority.certificate),
    cert: await readFile(administrator.certificate),
    key: await readFile(administrator.key),
  }
  const ready = (server: Daemon) => untilReady(url, access, [etcd, server])
  let apiServer = await start('kube-apiserver', serverArguments)
  await ready(apiServer)
  const controllers = await start('kube-controller-manager', [
    `--kubeconfig=${controllerConfig}`,
    '--leader-elect=false',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${tokens.key}`,
    `--root-ca-file=${authority.certificate}`,
    `--controllers=*,${CONTROLLERS_OFF.map((name) => `-${name}`).join(',')}`,
    '--secure-port=0',
    // The default limit would distort measurements with hundreds of gateways.
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ])
  const kubectl = makeKubectl(program, kubeconfig)
  return {
    url,
    kubeconfig,
    folder,
    kubectl,
    read: (path) => readAt(`${url}${path}`, access),
    etcd,
    controllers,
    apiServer: () => apiServer,
    restartApiServer: async (edit = (args) => args) => {
      await apiServer.stop('SIGKILL')
      apiServer = await start('kube-apiserver', edit(serverArguments))
      await ready(apiServer)
    },
    user: async (name, groups) => {
      const credential = certificateOf(await authority.client(name, groups))
      return await configFor(`user-${name.replace(/[^A-Za-z0-9-]/g, '-')}`, credential)
    },
    serviceAccount: async (account) => {
      const token = await makeServiceAccount(kubectl, account)
      return await configFor(`account-${account.namespace}-${account.name}`, { token })
    },
    installDefinitions: async () => {
      await kubectl(['apply', '--server-side', '-f', DEFINITIONS])
      await untilEstablished(kubectl)
    },
    installTypes: async (of) => {
      const definitions = join(FOREIGN_TYPES, `${of}.json`)
      // kubectl rejects an enumeration with null, such as that of OpenShift's Route; the API server still validates it.
      await kubectl(['apply', '--server-side', '--validate=false', '-f', definitions])
      await kubectl(['wait', '--for=condition=Established', '--timeout=120s', '-f', definitions])
    },
    stop,
  }
}

const SERVER_NAMES =
  'IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc'

function etcdArguments(folder: string, port: number, peerPort: number): string[] {
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${port}`,
    `--advertise-client-urls=http://127.0.0.1:${port}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync',
  ]
}

interface ServerParts {
  readonly etcdPort: number
  readonly port: number
  readonly serving: Pair
  readonly authority: Authority
  readonly tokens: Pair
}

function apiServerArguments({ etcdPort, port, serving, authority, tokens }: ServerParts): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${serving.certificate}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${authority.certificate}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--endpoint-reconciler-type=none',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${tokens.certificate}`,
    `--service-account-signing-key-file=${tokens.key}`,
    '--allow-privileged=true',
  ]
}

async function untilReady(url: string, access: Access, daemons: readonly Daemon[]): Promise<void> {
  const ask = async () => {
    for (const daemon of daemons) if (daemon.isOver()) throw new Error(`${daemon.name} ended`)
    return await get(`${url}/readyz`, access).then(
      ({ status }) => status === 200,
      () => false,
    )
  }
  await until('the API server is ready', ask, READY_SECONDS_MAX)
}

function certificateOf({ certificate, key }: Pair): object {
  return { 'client-certificate': certificate, 'client-key': key }
}

interface Where {
  readonly folder: string
  readonly name: string
  readonly url: string
  readonly certificate: string
}

async function writeKubeconfig(where: Where, user: object): Promise<string> {
  const path = join(where.folder, `${where.name}.kubeconfig`)
  const cluster = { server: where.url, 'certificate-authority': where.certificate }
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: where.name, user }],
    contexts: [{ name: where.name, context: { cluster: 'test', user: where.name } }],
    'current-context': where.name,
  }
  await writeFile(path, JSON.stringify(content, null, 2), { mode: 0o600 })
  return path
}

/** Reads each definition, because `kubectl wait` fails on one without conditions. */
export async function untilEstablished(kubectl: Kubectl): Promise<void> {
  const areEstablished = async () => {
    const answer = await kubectl(['get', 'crd', ...DEFINED, '-o', 'json', '--ignore-not-found'])
    const items: readonly Definition[] = answer === '' ? [] : JSON.parse(answer).items
    const ready = items.filter(({ status }) =>
      status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True'),
    )
    if (ready.length < DEFINED.length) return false
    // The API server serves an established resource a moment later.
    return await kubectl(['get', 'gwc,gwk', '-A']).then(
      () => true,
      () => false,
    )
  }
  await until('both resources are established', areEstablished, READY_SECONDS_MAX)
}

const DEFINED = [
  'gatewayconfigs.inference.gw',
  'gatewaykeys.inference.gw',
  'tenantpolicies.inference.gw',
]

interface Definition {
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] }
}
