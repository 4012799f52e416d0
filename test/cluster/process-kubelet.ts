/** Runs the pods of a cluster without nodes: each is a real data plane as a process of this machine, mounted and registered. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ApiClient } from '../../operator/api.ts'
import { openCluster } from '../../operator/cluster.ts'
import { isObject, type KubeObject, keyOf, RESOURCES, valueBelow } from '../../operator/objects.ts'
import { Reflector } from '../../operator/reflector.ts'
import { Store } from '../../operator/store.ts'
import { GATEWAY_LABEL, PUSH_ADDRESS_ANNOTATION } from '../../operator/workload/names.ts'
import { answers } from '../integration/gateway-process.ts'

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')
const MANAGER = 'process-kubelet'
/** How often mounts and readiness are looked at; a real kubelet takes a minute for the first. */
const LOOK_MS = 500

export interface RunningPod {
  readonly key: string
  readonly name: string
  readonly uid: string
  /** Origin of the client port. */
  readonly url: string
  readonly pushUrl: string
  /** Origin of the admin API, on loopback. */
  readonly adminUrl: string
  readonly child: ChildProcess
  readonly folder: string
  output(): string
}

export interface ProcessKubelet {
  pods(): RunningPod[]
  stop(): Promise<void>
}

export interface KubeletOptions {
  readonly kubeconfig: string
  readonly env?: Readonly<Record<string, string>>
  /** What is registered instead of the push port of the process, for pods that misbehave. */
  readonly pushAddress?: (pod: KubeObject, address: string) => string
}

/** From now on, pods of gateways that nobody runs are run here. */
export async function startProcessKubelet(options: KubeletOptions): Promise<ProcessKubelet> {
  const cluster = await openCluster({ env: process.env, kubeconfig: options.kubeconfig })
  const api = new ApiClient({ cluster })
  const store = new Store()
  const running = new Map<string, Promise<RunningPod | undefined>>()
  const known: RunningPod[] = []
  const reflector = new Reflector({
    api,
    store,
    resource: RESOURCES.pods,
    selection: { labelSelector: GATEWAY_LABEL },
    random: Math.random,
  })
  store.onChange((before, after) => {
    const uid = (after ?? before)?.metadata.uid ?? ''
    if (after === undefined) {
      void running.get(uid)?.then((pod) => pod?.child.kill('SIGTERM'))
      running.delete(uid)
      const index = known.findIndex((pod) => pod.uid === uid)
      if (index !== -1) known.splice(index, 1)
    } else if (!running.has(uid) && valueBelow(after, 'status', 'phase') === 'Pending') {
      const started = run(api, after, options)
      running.set(
        uid,
        started.catch(() => undefined),
      )
      void started.then((pod) => known.push(pod))
    }
  })
  reflector.start()
  const timer = setInterval(() => {
    for (const pod of known) {
      const object = store.get(pod.key)
      if (object !== undefined) void look(api, object, pod).catch(() => undefined)
    }
  }, LOOK_MS)
  return {
    pods: () => [...known],
    async stop() {
      clearInterval(timer)
      await reflector.stop()
      const pods = await Promise.all(running.values())
      await Promise.all(pods.map((pod) => pod && end(pod)))
      await api.close()
    },
  }
}

const children = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

async function run(
  api: ApiClient,
  object: KubeObject,
  options: KubeletOptions,
): Promise<RunningPod> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-pod-'))
  const mounts = await mountAll(api, object, folder)
  const [listen, metrics, push, admin] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ])
  const written = environmentOf(object)
  const placed = Object.fromEntries(
    Object.entries(written).map(([name, value]) => [name, mounts.get(value) ?? value]),
  )
  const env = {
    PATH: process.env.PATH ?? '',
    ...placed,
    ...options.env,
    GW_POD_NAME: object.metadata.name,
    GW_SECRETS_DIR: join(folder, 'secrets'),
    GW_LISTEN_PORT: String(listen),
    GW_METRICS_PORT: String(metrics),
    GW_PUSH_PORT: String(push),
    GW_ADMIN_PORT: String(admin),
    GW_DRAIN_DELAY_SECONDS: '0',
    GW_DRAIN_TIMEOUT_SECONDS: '2',
  }
  const pieces: string[] = []
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => pieces.push(piece))
  }
  children.add(child)
  child.once('close', (code) => {
    children.delete(child)
    void rm(folder, { recursive: true, force: true })
    const last = pieces.join('').slice(-2000)
    if (code !== null && code !== 0) process.stderr.write(`a pod ended with ${code}:\n${last}\n`)
  })
  const address = options.pushAddress?.(object, `127.0.0.1:${push}`) ?? `127.0.0.1:${push}`
  const { name, namespace } = object.metadata
  await api.apply(
    RESOURCES.pods,
    {
      metadata: {
        name,
        namespace: namespace ?? '',
        annotations: { [PUSH_ADDRESS_ANNOTATION]: address },
      },
    },
    { manager: MANAGER },
  )
  const pod = {
    key: keyOf(object),
    name,
    uid: object.metadata.uid ?? '',
    url: `http://127.0.0.1:${listen}`,
    pushUrl: `http://127.0.0.1:${push}`,
    adminUrl: `http://127.0.0.1:${admin}`,
    child,
    folder,
    output: () => pieces.join(''),
  }
  await report(api, object, false)
  return pod
}

/** Refreshes what is mounted, and says whether the pod takes requests. */
async function look(api: ApiClient, object: KubeObject, pod: RunningPod): Promise<void> {
  await mountAll(api, object, pod.folder)
  const isReady = pod.child.exitCode === null && (await answers(`${pod.url}/readyz`))
  const conditions = valueBelow(object, 'status', 'conditions')
  const was =
    Array.isArray(conditions) &&
    conditions.some((one) => isObject(one) && one.type === 'Ready' && one.status === 'True')
  if (isReady !== was) await report(api, object, isReady)
}

async function report(api: ApiClient, { metadata }: KubeObject, isReady: boolean): Promise<void> {
  const status = isReady ? 'True' : 'False'
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`
  const conditions = ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'].map((type) => ({
    type,
    status: type.endsWith('Ready') ? status : 'True',
    lastTransitionTime,
  }))
  const { name, namespace } = metadata
  await api.apply(
    RESOURCES.pods,
    {
      metadata: { name, namespace: namespace ?? '' },
      status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], conditions },
    },
    { manager: MANAGER, subresource: 'status' },
  )
}

/** Writes each volume where a container would see it. Returns folder by mount path. */
async function mountAll(
  api: ApiClient,
  pod: KubeObject,
  folder: string,
): Promise<Map<string, string>> {
  const { namespace = '' } = pod.metadata
  const mounted = new Map<string, string>()
  const volumes = valueBelow(pod, 'spec', 'volumes')
  const [container] = listOf(valueBelow(pod, 'spec', 'containers'))
  for (const mount of listOf(valueBelow(container, 'volumeMounts'))) {
    const path = String(valueBelow(mount, 'mountPath'))
    const volume = listOf(volumes).find(
      (one) => valueBelow(one, 'name') === valueBelow(mount, 'name'),
    )
    const isSecret = isObject(valueBelow(volume, 'secret'))
    const place = isSecret ? join('secrets', path.split('/').at(-1) ?? '') : path.slice(1)
    const target = join(folder, place)
    await mkdir(target, { recursive: true })
    mounted.set(path, target)
    const files = await filesOf(api, namespace, volume)
    for (const [name, content] of files) await replaceFile(join(target, name), content)
  }
  return mounted
}

async function filesOf(
  api: ApiClient,
  namespace: string,
  volume: unknown,
): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const sources = [
    ...listOf(valueBelow(volume, 'projected', 'sources')).map((one) =>
      valueBelow(one, 'configMap'),
    ),
    valueBelow(volume, 'configMap'),
  ].filter(isObject)
  for (const source of sources) {
    const name = String(source.name)
    const object = await api.get(RESOURCES.configMaps, { namespace, name })
    const contents = contentsOf(object)
    const items = listOf(source.items)
    for (const [key, content] of contents) {
      const item = items.find((one) => valueBelow(one, 'key') === key)
      if (items.length > 0 && item === undefined) continue
      files.set(String(valueBelow(item, 'path') ?? key), content)
    }
  }
  const secret = valueBelow(volume, 'secret', 'secretName')
  if (typeof secret === 'string') {
    const object = await api.get(RESOURCES.secrets, { namespace, name: secret })
    for (const [key, value] of Object.entries(valueBelow(object, 'data') ?? {})) {
      files.set(key, Buffer.from(String(value), 'base64'))
    }
  }
  return files
}

function contentsOf(configMap: KubeObject | undefined): [string, Buffer][] {
  const texts = Object.entries(valueBelow(configMap, 'data') ?? {})
  const binaries = Object.entries(valueBelow(configMap, 'binaryData') ?? {})
  return [
    ...texts.map(([key, text]): [string, Buffer] => [key, Buffer.from(String(text))]),
    ...binaries.map(([key, text]): [string, Buffer] => [key, Buffer.from(String(text), 'base64')]),
  ]
}

const written = new Map<string, string>()

/** Whole or not at all, and only if it is new: the data plane watches these files. */
async function replaceFile(path: string, content: Buffer): Promise<void> {
  const text = content.toString('base64')
  if (written.get(path) === text) return
  written.set(path, text)
  const next = join(dirname(path), `..${randomInt(1e9)}`)
  await writeFile(next, content)
  await rename(next, path)
}

function environmentOf(pod: KubeObject): Record<string, string> {
  const [container] = listOf(valueBelow(pod, 'spec', 'containers'))
  const entries = listOf(valueBelow(container, 'env')).flatMap((one): [string, string][] => {
    const value = valueBelow(one, 'value')
    return typeof value === 'string' ? [[String(valueBelow(one, 'name')), value]] : []
  })
  return Object.fromEntries(entries)
}

async function end({ child, folder }: RunningPod): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  await rm(folder, { recursive: true, force: true })
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Below the range of outgoing connections, so that none of them takes the port in between. */
async function freePort(): Promise<number> {
  const port = randomInt(12_000, 32_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').catch(() => false)
  server.close()
  return isFree ? port : freePort()
}
