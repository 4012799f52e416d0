/**
 * Runs the pods of a cluster without nodes: each is a real data plane process on this machine, with
 * mounts and a status.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { GATEWAY_LABEL } from '../../operator/kube/names.ts'
import { type KubeObject, keyOf, RESOURCES, type Resource } from '../../operator/kube/objects.ts'
import { Reflector } from '../../operator/kube/watch/reflector.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import { freePort } from '../helpers/free-port.ts'
import { answers, until } from '../helpers/until.ts'
import { PUSH_ADDRESS_ANNOTATION } from './local-pods.ts'
import { listOf, type Mountable, mountAll } from './pod-mounts.ts'

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')
const MANAGER = 'process-kubelet'
/** The interval of checks of mounts and readiness; a real kubelet takes a minute for the first. */
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
  /** The port to register instead of the process's push port, for pods that misbehave. */
  readonly pushAddress?: (pod: KubeObject, address: string) => string
  /** Pods whose image has this prefix are never started, as if the image did not exist. */
  readonly missingImages?: string
}

/** From now on, pods of gateways without another runner run here. */
export async function startProcessKubelet(options: KubeletOptions): Promise<ProcessKubelet> {
  const cluster = await openCluster({ env: process.env, kubeconfig: options.kubeconfig })
  const api = new ApiClient({ cluster })
  const store = new ObjectStore()
  const mountable: Mountable = { configMaps: new ObjectStore(), secrets: new ObjectStore() }
  const running = new Map<string, Promise<RunningPod | undefined>>()
  const known = new Map<string, RunningPod>()
  const reflectors = [
    watching(api, RESOURCES.configMaps, mountable.configMaps),
    watching(api, RESOURCES.secrets, mountable.secrets),
    watching(api, RESOURCES.pods, store, GATEWAY_LABEL),
  ]
  let isOver = false
  const stopping = Promise.withResolvers<void>()
  /**
   * Retries until the pod runs, because servers may be stopped on purpose, or is no longer wanted.
   */
  const begin = async (pod: KubeObject, uid: string) => {
    const synced = Promise.all(reflectors.map((reflector) => reflector.synced))
    await Promise.race([synced, stopping.promise])
    while (running.has(uid) && !isOver) {
      try {
        const started = await run({ api, mountable }, pod, options)
        if (running.has(uid)) known.set(uid, started)
        else started.child.kill('SIGTERM')
        return started
      } catch (error) {
        process.stderr.write(`pod ${keyOf(pod)} was not started: ${error}\n`)
        await delay(1000)
      }
    }
    return undefined
  }
  store.onChange((before, after) => {
    const uid = (after ?? before)?.metadata.uid ?? ''
    if (after === undefined) {
      void running.get(uid)?.then((pod) => pod?.child.kill('SIGTERM'))
      running.delete(uid)
      known.delete(uid)
    } else if (isToRun(after, options) && !running.has(uid)) {
      running.set(uid, begin(after, uid))
    }
  })
  for (const reflector of reflectors) reflector.start()
  const timer = setInterval(() => {
    for (const pod of known.values()) {
      const object = store.get(pod.key)
      if (object?.metadata.uid !== pod.uid) continue
      void look({ api, mountable }, object, pod).catch(() => undefined)
    }
  }, LOOK_MS)
  return {
    pods: () => [...known.values()],
    async stop() {
      isOver = true
      stopping.resolve()
      clearInterval(timer)
      await Promise.all(reflectors.map((reflector) => reflector.stop()))
      const pods = await Promise.all(running.values())
      await Promise.all(pods.map((pod) => pod && end(pod)))
      await api.close()
    },
  }
}

function isToRun(pod: KubeObject, { missingImages }: KubeletOptions): boolean {
  const [container] = listOf(valueBelow(pod, 'spec', 'containers'))
  const image = String(valueBelow(container, 'image'))
  const isMissing = missingImages !== undefined && image.startsWith(missingImages)
  return !isMissing && valueBelow(pod, 'status', 'phase') === 'Pending'
}

function watching(api: ApiClient, resource: Resource, store: ObjectStore, labelSelector?: string) {
  const selection = labelSelector === undefined ? {} : { labelSelector }
  return new Reflector({ api, store, resource, selection, random: Math.random })
}

const children = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

interface Node {
  readonly api: ApiClient
  readonly mountable: Mountable
}

/**
 * Another process may have taken a port that was free a moment ago; then the program is started
 * again with other ports.
 */
const STARTS_MAX = 3

async function run(
  { api, mountable }: Node,
  object: KubeObject,
  options: KubeletOptions,
): Promise<RunningPod> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-pod-'))
  let pod = await spawnPod(mountable, { object, folder }, options)
  for (let start = 1; !(await hasStarted(pod)); start++) {
    const said = pod.output().slice(-2000)
    if (start === STARTS_MAX) throw new Error(`it ended ${STARTS_MAX} times:\n${said}`)
    process.stderr.write(`a pod ended as it started, and is started again:\n${said}\n`)
    pod = await spawnPod(mountable, { object, folder }, options)
  }
  pod.child.once('close', (code) => {
    void rm(folder, { recursive: true, force: true })
    const last = pod.output().slice(-2000)
    if (code !== null && code !== 0) process.stderr.write(`a pod ended with ${code}:\n${last}\n`)
  })
  try {
    await register(api, object, options.pushAddress?.(object, addressOf(pod)) ?? addressOf(pod))
  } catch (error) {
    // It was deleted meanwhile, and no one else will end its process.
    await end(pod)
    throw error
  }
  return pod
}

function addressOf({ pushUrl }: RunningPod): string {
  return new URL(pushUrl).host
}

async function register(api: ApiClient, object: KubeObject, address: string): Promise<void> {
  const { name, namespace = '', uid = '' } = object.metadata
  const annotations = { [PUSH_ADDRESS_ANNOTATION]: address }
  const metadata = { name, namespace, uid, annotations }
  await api.apply(RESOURCES.pods, { metadata }, { manager: MANAGER })
  await report(api, object, false)
}

/** Whether it listens; false after it has ended. */
async function hasStarted({ child, url }: RunningPod): Promise<boolean> {
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  await until('the pod listens', async () => isOver() || (await answers(`${url}/healthz`)), 120)
  return !isOver()
}

async function spawnPod(
  mountable: Mountable,
  { object, folder }: { object: KubeObject; folder: string },
  options: KubeletOptions,
): Promise<RunningPod> {
  const mounts = await mountAll(mountable, object, folder)
  const ports = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const [listen, metrics, push, admin] = ports
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
  child.once('close', () => children.delete(child))
  return {
    key: keyOf(object),
    name: object.metadata.name,
    uid: object.metadata.uid ?? '',
    url: `http://127.0.0.1:${listen}`,
    pushUrl: `http://127.0.0.1:${push}`,
    adminUrl: `http://127.0.0.1:${admin}`,
    child,
    folder,
    output: () => pieces.join(''),
  }
}

/** Refreshes the mounts, and returns whether the pod takes requests. */
async function look({ api, mountable }: Node, object: KubeObject, pod: RunningPod): Promise<void> {
  if (pod.child.exitCode === null) await mountAll(mountable, object, pod.folder)
  const isReady = pod.child.exitCode === null && (await answers(`${pod.url}/readyz`))
  const conditions = valueBelow(object, 'status', 'conditions')
  const was =
    Array.isArray(conditions) &&
    conditions.some((one) => isRecord(one) && one.type === 'Ready' && one.status === 'True')
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
  const { name, namespace, uid = '' } = metadata
  await api.apply(
    RESOURCES.pods,
    {
      metadata: { name, namespace: namespace ?? '', uid },
      status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], conditions },
    },
    { manager: MANAGER, subresource: 'status' },
  )
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
