/** The gateway in which incidents are planted: a model server that can fail, one with two replicas, Redis, several tenants. */
import { clientPod, gateway, gatewayKey, server } from '../objects.ts'
import { SPACE, SYSTEM } from '../spaces.ts'
import {
  gatewayReady,
  openWorld,
  prepare,
  redisValues,
  rolledOut,
  SECONDS_MAX,
  type World,
} from '../world.ts'

export const NAME = 'explained'
const ASKER = 'explained-asker'
const SECRET = 'explained-hosted'

type Fields = Readonly<Record<string, unknown>>

export interface Asked {
  readonly tenant?: 'acme' | 'research' | 'batch'
  /** Instead of the tenant's. */
  readonly key?: string
  readonly model: string
  readonly count?: number
  readonly isStream?: boolean
}

export interface Rig {
  readonly world: World
  /** Applies the gateway with other settings; without any, as at the beginning. */
  configure(change?: { readonly gw?: Fields; readonly spec?: Fields }): Promise<void>
  enforced(): Promise<void>
  /** All pods of a model server fail in this way from now on, or only the first one. */
  fails(server: 'faulty' | 'shared', mode: string, onlyFirst?: boolean): Promise<void>
  scale(deployment: string, replicas: number, namespace?: string): Promise<void>
  secret(isThere: boolean): Promise<void>
  /** The statuses of the answers. */
  ask(asked: Asked): Promise<string>
  kubectl(...args: readonly string[]): Promise<string>
  close(): Promise<void>
}

const hosted = {
  name: 'hosted',
  provider: 'openai',
  endpoint: 'http://faulty:9000',
  model: 'm',
  api_key: `\${secret:${SECRET}/key}`,
  context_window: 8192,
  timeout_seconds: 3,
  circuit_breaker: { failure_threshold: 5, open_duration_seconds: 1 },
}
export const replicas = {
  name: 'replicas',
  provider: 'vllm',
  endpoint: 'http://shared:9000',
  endpoints: 'pods',
  model: 'm',
  context_window: 8192,
}
export const routes = [
  { name: 'chat', strategy: 'single', primary: 'hosted', retry: { max_attempts: 1 } },
  { name: 'spread', strategy: 'single', primary: 'replicas', retry: { max_attempts: 1 } },
]
export const upstreams = [hosted, replicas]

const PLENTY = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 10_000 }

export const budgets = [
  { name: 'research', tenants: ['research'], tokens_per_day: 5, on_exceeded: 'reject' },
]

export function sharedLimits(change: Fields = {}): Fields {
  const url = '${secret:gw-redis/url}'
  const redis = { url, timeout_ms: 400, fail_open: false, key_prefix: NAME, ...change }
  const batch = { tenant: 'batch', requests_per_minute: 1, burst: 1 }
  return { backend: 'redis', redis, default: PLENTY, tenants: [batch] }
}

function settings(change: Fields = {}): Fields {
  const aliases = { 'gpt-4o': 'spread' }
  return { upstreams, routes, aliases, budgets, rate_limits: sharedLimits(), ...change }
}

export async function openRig(): Promise<Rig> {
  const world = await openWorld()
  await prepare(world, ...redisValues())
  const { kubectl: run, image } = world
  const kubectl = (...args: readonly string[]) => run(['-n', SPACE, ...args])
  const keys = new Map<string, string>()
  const scale = async (name: string, count: number, namespace: string = SPACE) => {
    await run(['-n', namespace, 'scale', `deployment/${name}`, `--replicas=${count}`])
    await rolledOut(world, 'deployment', name, namespace)
    if (count > 0) return
    const select = namespace === SYSTEM ? labelOf(name) : `app=${name}`
    await run(['-n', namespace, 'wait', '--for=delete', 'pod', '-l', select, '--timeout=90s'])
  }
  const secret = async (isThere: boolean) => {
    if (!isThere) return void (await kubectl('delete', 'secret', SECRET))
    const metadata = { name: SECRET, namespace: SPACE }
    await world.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      stringData: { key: 'sk-explained-0123456789abcdef' },
    })
  }
  const configure: Rig['configure'] = async ({ gw, spec } = {}) => {
    const own = { replicas: 2, ...spec }
    await world.apply(gateway(NAME, { gw: settings(gw), spec: own }))
  }
  await secret(true)
  const faulty = { image, command: ['node', '/client/faulty.ts'] }
  await world.apply(
    ...server('faulty', faulty),
    ...server('shared', faulty),
    clientPod({ name: ASKER, image, command: ['node', '-e', 'setInterval(() => {}, 1000)'] }),
    ...['acme', 'research', 'batch'].map((tenant) => {
      const { key, object } = gatewayKey(NAME, tenant)
      keys.set(tenant, key)
      return object
    }),
  )
  await configure()
  // An earlier run may have left a mode.
  await kubectl('rollout', 'restart', 'deployment/faulty', 'deployment/shared')
  await Promise.all([scale('shared', 2), rolledOut(world, 'deployment', 'faulty')])
  await kubectl('wait', '--for=condition=Ready', `pod/${ASKER}`, `--timeout=${SECONDS_MAX}s`)
  await gatewayReady(world, NAME)
  return {
    world,
    configure,
    enforced: () => gatewayReady(world, NAME),
    async fails(name, mode, onlyFirst = false) {
      const get = ['get', 'pods', '-l', `app=${name}`, '-o', 'jsonpath={.items[*].metadata.name}']
      const pods = (await kubectl(...get)).split(' ')
      for (const pod of onlyFirst ? pods.slice(0, 1) : pods) {
        const path = `/api/v1/namespaces/${SPACE}/pods/${pod}:9000/proxy/mode/${mode}`
        await run(['get', '--raw', path])
      }
    },
    scale,
    secret,
    async ask({ tenant = 'acme', key = keys.get(tenant) ?? '', model, count = 6, isStream }) {
      const program = ['node', '/client/asks.ts', `http://${NAME}.${SPACE}.svc`]
      const what = [key, model, `${count}`, isStream ? 'stream' : 'whole']
      return await kubectl('exec', ASKER, '--', ...program, ...what)
    },
    kubectl,
    async close() {
      const all = ['gatewayconfig', NAME, '--ignore-not-found']
      await kubectl('delete', ...all)
      await kubectl('delete', 'pod', ASKER, '--ignore-not-found', '--wait=false')
      await kubectl('delete', 'deployment,service', 'faulty', 'shared', '--ignore-not-found')
    },
  }
}

function labelOf(deployment: string): string {
  const part = deployment === 'gw' ? 'operator' : 'redis'
  return `app.kubernetes.io/component=${part}`
}
